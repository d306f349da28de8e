/* Predict: before a step is shown, its shape is asked for, axis by axis. State: which steps are known, how many were
   asked, how many of them were right at the first try, and the question that stands in the figure's place. */

import { code, dim, element, say, write } from './kit.js';
import { axisRole, dimName, dimSize, named, namedShape } from './tensor.js';

const PRODUCTS = ['matmul', 'bmm', 'mm', 'attention_scores', 'weighted_sum'];
const KEEPS = [
  'scale_scores',
  'mask_scores',
  'masked_fill',
  'attention_weights',
  'softmax',
  'dropout',
  'layer_norm',
];

/** A step can be asked for when it has one result with axes and is no input. */
const asks = (step) =>
  !['input', 'fold'].includes(step.kind) && step.outputs.length === 1 && step.outputs[0].dims.length > 0;

/** What may be answered: every name of the trace with one size, and what the result itself has. */
function answers(trace, step) {
  const [output] = step.outputs;
  const named = Object.keys(trace.sizes).map((label) => [label, trace.sizes[label]]);
  const all = new Map([...named, ...output.dims.map((label, axis) => [label, output.shape[axis]])]);
  return [...all].slice(0, 8).map(([label, size]) => ({ label, size }));
}

/** The first axis that is wrong or open: -1 when the answer is right. */
const firstWrong = (step, chosen) =>
  step.outputs[0].dims.findIndex((label, axis) => chosen[axis] !== label);

/** Why the wrong answer tempts, and what the operation does instead. */
function hint(trace, step, chosen) {
  const axis = firstWrong(step, chosen);
  const picked = chosen[axis];
  if (picked === undefined) return say`Axis ${axis} is still open.`;
  const no = say`Axis ${axis} is not ${dimName(trace, picked)}. `;
  const [left, right] = step.inputs;
  if (PRODUCTS.includes(step.op) && left) {
    const inner = left.dims.at(-1);
    return picked === inner && right
      ? say`${no}${dimName(trace, inner)} is the inner dim: it is summed away, and what is left of ${named(left)} and of ${named(right)} stays, in this order.`
      : say`${no}A product keeps what is left of each operand once the inner dim, ${dimName(trace, inner)}, is summed away.`;
  }
  if ((step.op === 'linear' || step.op === 'project') && left) {
    return say`${no}A linear map changes the last axis only, from what its weight takes to what it gives.`;
  }
  if (step.op === 'transpose' || step.op === 'permute') {
    return picked === left.dims[axis]
      ? say`${no}That is where it was before: the axes change places.`
      : say`${no}A transpose keeps every axis and changes places of two.`;
  }
  if (KEEPS.includes(step.op)) {
    return say`${no}This works number by number or row by row: the shape stays as it was.`;
  }
  if (step.op.includes('mask')) {
    return say`${no}A mask has one row a query and one column a key, and no other axis.`;
  }
  return say`${no}Which axis does this line touch? All others stay in their places.`;
}

// ---------- view

/** The question of a step. `done(first, right)` is called when it is answered or given up. */
function questionView(trace, step, signal, done) {
  const [output] = step.outputs;
  const reply = element('p', { class: 'reply', role: 'status' });
  const slots = output.dims.map((_, axis) =>
    element(
      'fieldset',
      {},
      element('legend', {}, `axis ${axis}`),
      ...answers(trace, step).map(({ label, size }) =>
        element(
          'label',
          { class: axisRole(trace, label) || '' },
          element('input', { type: 'radio', name: `axis${axis}`, value: label }),
          write(element('span'), dimSize(trace, label, size)),
        ),
      ),
    ),
  );
  const show = element('button', { type: 'button' }, 'Show me');
  const form = element(
    'form',
    { class: 'ask' },
    write(
      element('p'),
      say`What is the shape of ${code(step.variable)} after ${code(step.code)}? Choose one name for each axis.`,
    ),
    element('div', { class: 'slots' }, ...slots),
    element('p', { class: 'answer' }, element('button', {}, 'Check'), ' ', show),
    reply,
  );
  let first = true;
  form.addEventListener(
    'submit',
    (event) => {
      event.preventDefault();
      const chosen = slots.map(
        (slot) => [...slot.querySelectorAll('input')].find((input) => input.checked)?.value,
      );
      if (firstWrong(step, chosen) < 0) {
        done(first, true);
        return;
      }
      if (!chosen.includes(undefined)) first = false;
      write(reply, hint(trace, step, chosen));
    },
    { signal },
  );
  show.addEventListener('click', () => done(false, false), { signal });
  return form;
}

// ---------- wiring

/** Ask for shapes before they are shown, or no longer; at a step that is not asked for, say what comes. */
export function predict(player) {
  const { game, part } = player;
  player.game = game ? null : new Game(player);
  part.tools.predict.setAttribute('aria-pressed', String(!game));
  player.countable();
  player.play(false);
  player.steps.hide(player.game);
  player.show();
  game?.ask();
  if (player.game && !player.hidden) write(part.reading, say`Go on: the next new shape is asked for.`);
}

/** The game of one player, from the press of its button to the next. */
class Game {
  constructor(player) {
    Object.assign(this, { player, known: new Set(), right: 0, asked: 0, question: null });
  }

  /** Whether the shape of a step is still the reader's to say. */
  hides(step) {
    return asks(step) && !this.known.has(step);
  }

  /** "(?, ?, ?)" in place of a shape. */
  shape(step) {
    return [dim(`(${step.outputs[0].dims.map(() => '?').join(', ')})`, null)];
  }

  words(step) {
    return say`Predict the shape of ${code(step.variable)} before you see it.`;
  }

  get score() {
    return this.asked ? `${this.right} of ${this.asked} at the first try` : '';
  }

  /** Put the question of the step at hand in the figure's place, or the figure back. */
  ask() {
    const { trace, step, hidden, part, signal } = this.player;
    part.drawing.root.style.display = hidden ? 'none' : '';
    if (hidden && this.question?.step === step) return;
    this.question?.form.remove();
    this.question = null;
    if (!hidden) return;
    const form = questionView(trace, step, signal, (...how) => this.answered(...how));
    this.question = { step, form };
    part.stage.append(form);
  }

  answered(first, right) {
    const { player } = this;
    const { step, trace, part } = player;
    this.known.add(step);
    this.asked++;
    if (first) this.right++;
    player.steps.hide(this);
    player.show();
    if (right) write(part.reading, say`Right: ${named(step.outputs[0])} is ${namedShape(trace, step.outputs[0])}.`);
    part.stage.focus();
  }
}
