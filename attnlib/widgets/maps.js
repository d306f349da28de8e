/* Operations number by number: inputs, scaling, sums, and everything that has no picture of its own. */

import { flow, front, hidden, joined } from './flow.js';
import { code, dim, list, number, range, say } from './kit.js';
import { maskPhases, maskedPhases } from './masks.js';
import { softmaxPhases } from './softmax.js';
import { dimName, dimSize, named, namedShape, rank, sheet } from './tensor.js';

const OVER = { sum: 'Σ over', mean: 'mean over' };
const SIGNS = { add: '+', sub: '−', mul: '×', div: '÷' };

// ---------- inputs

function countWords(trace, tensor) {
  const n = rank(tensor);
  const of = (axis) => dimSize(trace, tensor.dims[axis], tensor.shape[axis]);
  if (n === 0) return say`${named(tensor)} is a single number.`;
  if (n === 1) return say`${named(tensor)} is one row of ${of(0)} numbers.`;
  const rows = say`${of(n - 2)} ${tensor.shape[n - 2] === 1 ? 'row' : 'rows'} of ${of(n - 1)} numbers each`;
  if (tensor.shape.slice(0, -2).every((size) => size === 1)) {
    return say`${named(tensor)} is ${rows}${n > 2 ? ', on a single sheet' : ''}.`;
  }
  const lead = list(tensor.shape.slice(0, -2).map((_, axis) => of(axis)));
  return say`${named(tensor)} is a stack of ${lead} sheets; on each, ${rows}.`;
}

const inputPhases = (step, trace) => [
  {
    say: () => countWords(trace, step.outputs[0]),
    draw: (scene) =>
      flow(
        scene,
        step.outputs.map((tensor) => front(scene, tensor)),
        scene.top + 24,
      ),
  },
];

// ---------- a number applied to every number

function drawSpread(scene, key, view, y, label, reach, ring) {
  const values = range(view.rows)
    .flatMap((i) => range(view.cols).map((j) => view.value(i, j)))
    .filter((v) => typeof v === 'number' && Number.isFinite(v));
  const x = scene.left;
  const width = scene.narrow ? scene.width - 40 : 396;
  const at = (v) => x + width / 2 + (v * width) / (2 * reach);
  const marks = [-reach, -reach / 2, 0, reach / 2, reach];
  scene.path(
    `${key}.line`,
    `M${x} ${y}h${width}${marks.map((m) => `M${at(m)} ${y - 4}v8`).join('')}`,
    'hair',
  );
  marks.forEach((m, n) =>
    scene.text(`${key}.mark${n}`, at(m), y + 20, number(m, Number.isInteger(m) ? 0 : 1), 'middle'),
  );
  values.forEach((v, n) => scene.box(`${key}.dot${n}`, at(v) - 5, y - 14, 10, 10, ring ? 'dot ring' : 'dot'));
  scene.text(`${key}.label`, x, y - 24, label);
}

function drawScale(scene, step, sign, done) {
  const [input] = step.inputs;
  const [output] = step.outputs;
  const view = sheet(input, scene.at);
  const places = flow(scene, [front(scene, input), { sign }, front(scene, output, done ? {} : hidden)]);
  if (!input.values || !output.values || view.rows * view.cols > 48) return;
  const finite = range(view.rows)
    .flatMap((i) => range(view.cols).map((j) => Math.abs(Number(view.value(i, j)))))
    .filter(Number.isFinite);
  const reach = Math.max(1, Math.ceil(Math.max(0, ...finite)));
  const low = places.bottom + 66;
  drawSpread(scene, 'before', view, low, say`the numbers of ${named(input)} on a line`, reach, done);
  if (done) {
    drawSpread(scene, 'after', sheet(output, scene.at), low + 72, say`those of ${named(output)}`, reach);
  }
}

function scalePhases(step, trace) {
  const [input] = step.inputs;
  const size = step.params.head_size;
  const by = step.params.other;
  const heads = step.op === 'scale_scores' && typeof size === 'number';
  const root = heads ? Math.sqrt(size) : by;
  const H = dim('H', 'H');
  const short = number(root, Number.isInteger(root) ? 0 : 2);
  const sign = heads ? [say`÷ √${H}`, say`= ${short}`] : say`${SIGNS[step.op] || step.op} ${short}`;
  const why = heads
    ? say`Each score is a sum of ${H} = ${size} products and tends to grow with √${H}; dividing by √${H} = ${short} takes that growth away.`
    : say`Every number of ${named(input)} meets the same number: ${sign}.`;
  const shrink = heads || step.op === 'div' ? 1 / root : step.op === 'mul' ? root : null;
  const after =
    shrink === null || !(shrink > 0)
      ? say`The shape stays ${namedShape(trace, step.outputs[0])}; only the numbers change.`
      : say`Every distance from zero is ${shrink === 0.5 ? 'halved' : `multiplied by ${number(shrink)}`}, and no number overtakes another.`;
  return [
    { say: () => why, draw: (scene) => drawScale(scene, step, sign, false) },
    { say: () => after, draw: (scene) => drawScale(scene, step, sign, true) },
  ];
}

// ---------- everything else

const MAP_WORDS = {
  cat: (step, trace) =>
    say`${list(step.inputs.map((tensor) => [named(tensor)]))} are joined along ${axisAt(trace, step)}, in this order.`,
  stack: (step) =>
    say`${list(step.inputs.map((tensor) => [named(tensor)]))} become the sheets along a new axis.`,
  sum: (step, trace) => gatherWords(step, trace, 'added'),
  mean: (step, trace) => gatherWords(step, trace, 'averaged'),
  layer_norm: (step, trace) =>
    say`Each row is shifted to mean 0 and divided by its own spread along ${dimName(trace, step.inputs[0].dims.at(-1))}; the shape stays.`,
  embedding: (step) => say`Each id picks its row of the table: ${named(step.outputs[0])} holds one row an id.`,
  softmax: ({ inputs: [x], params }) =>
    say`Along axis ${params.dim} of ${named(x)} the numbers become shares: there, and along no other axis, they add up to 1.`,
  dropout: () =>
    say`In training some numbers are set to 0 and the others made larger to keep the mean; the shape stays.`,
  scaled_dot_product_attention: () =>
    say`One fused call does scores, scale, mask, softmax and weighted sum; the S × S weights are never handed out.`,
  layers: ({ params, code: title, inputs: [x], outputs: [y] }, trace) => {
    const comes = x ? say` from ${named(x)} ${namedShape(trace, x)}` : [];
    const goes = y ? say` to ${named(y)} ${namedShape(trace, y)}` : [];
    return params.count > 1
      ? say`${title} run the same ${params.length} steps again, ${params.count} times with weights of their own,${comes}${goes}. Open them in the list to play them.`
      : say`${title} runs the same ${params.length} steps with weights of its own,${comes}${goes}. Open it in the list to play them.`;
  },
  tril: () => say`Row i keeps its columns up to i; what lies right of the diagonal becomes 0.`,
  triu: () => say`Row i keeps its columns from i on; what lies left of the diagonal becomes 0.`,
};

const gatherWords = (step, trace, done) =>
  say`The numbers along ${axisAt(trace, step)} are ${done}; that axis is ${rank(step.outputs[0]) === rank(step.inputs[0]) ? 'now 1 long' : 'gone'}.`;

function axisAt(trace, step) {
  const [input] = step.inputs;
  const axis = step.params.dim;
  if (!Number.isInteger(axis)) return 'all axes';
  const label = input.dims.at(axis);
  return label === undefined || label === String(input.shape.at(axis))
    ? `axis ${axis}`
    : dimName(trace, label);
}

function plainWords(step, trace) {
  if (MAP_WORDS[step.op]) return MAP_WORDS[step.op](step, trace);
  if (!step.inputs.length) {
    return say`${code(step.op)} starts anew, from no tensor: ${list(step.outputs.map((tensor) => say`${named(tensor)} ${namedShape(trace, tensor)}`))}.`;
  }
  const of = list(step.inputs.map((tensor) => [named(tensor)]));
  if (SIGNS[step.op] && step.inputs.length === 2) {
    const [a, b] = step.inputs;
    const less = rank(a) < rank(b) ? a : b;
    return say`${of} meet number by number${a.shape.join() !== b.shape.join() ? say`; ${named(less)} ${namedShape(trace, less)} is used again and again along the axes it lacks` : ''}.`;
  }
  return say`${code(step.op)} makes ${list(step.outputs.map((tensor) => [named(tensor)]))} from ${of}.`;
}

function errorPhases(step) {
  return [
    {
      say: () => say`This line fails.`,
      draw: (scene) => {
        const { bottom } = step.inputs.length ? flow(scene, joined(scene, step.inputs)) : { bottom: scene.top };
        scene.text('refused', scene.left, bottom + 60, 'no result', 'bad strong');
      },
    },
  ];
}

function plainPhases(step, trace) {
  const sign = SIGNS[step.op] ? say`${SIGNS[step.op]}` : null;
  const before = (scene) => joined(scene, step.inputs, sign);
  const after = (scene, options) => step.outputs.map((tensor) => front(scene, tensor, options));
  if (!step.inputs.length && !step.outputs.length) {
    return [
      {
        say: () => say`${code(step.op)} has no tensor to show.`,
        draw: (scene) => scene.text('nothing', scene.left, scene.top, 'no tensor'),
      },
    ];
  }
  const over = OVER[step.op] && Number.isInteger(step.params.dim) ? say`${OVER[step.op]} ${axisAt(trace, step)}` : null;
  // A phone has no room for words between two grids; there the sentence says it.
  const goes = ({ narrow }) => (over && !narrow ? [say`→`, over] : say`${sign ? '=' : '→'}`);
  const draw = (scene, options) =>
    flow(scene, [
      ...before(scene),
      ...(step.inputs.length ? [{ sign: goes(scene) }] : []),
      ...after(scene, options),
    ]);
  return [{ say: () => plainWords(step, trace), draw: (scene) => draw(scene, {}) }];
}

const IS = {
  input: inputPhases,
  scale_scores: scalePhases,
  causal_mask: maskPhases,
  mask_scores: maskedPhases,
  masked_fill: maskedPhases,
  where: maskedPhases,
  softmax: softmaxPhases,
  attention_weights: softmaxPhases,
};

/** @returns the phases of any row that is neither a product nor a view */
export function mapPhases(step, trace) {
  if (step.kind === 'error') return errorPhases(step);
  if (step.kind === 'input' && step.outputs.length) return inputPhases(step, trace);
  const one = step.inputs.length === 1 && step.outputs.length === 1;
  if (SIGNS[step.op] && one && typeof step.params.other === 'number') {
    return scalePhases(step, trace);
  }
  if (step.op === 'scale_scores' && !one) return plainPhases(step, trace);
  return (IS[step.op] && step.outputs.length && IS[step.op](step, trace)) || plainPhases(step, trace);
}
