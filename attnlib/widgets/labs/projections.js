/* Lab 01, projections: every token's row through one weight. State: { by, i, j, order, add }: the weight, the row and the
   feature that are read, which token stands in which row, and what is added to the numbers of the row that is read. */

import { drawCross } from '../cross.js';
import { code, dim, number, range, say } from '../kit.js';
import { productOf } from '../operands.js';
import { drawSum } from '../sums.js';
import { choice, slider } from './fields.js';
import { matrix, project } from './matrix.js';
import { order } from './order.js';

const NAMES = { query: 'q', key: 'k', value: 'v' };
const STEPS = range(17).map((n) => (n - 8) / 4);

// ---------- pure

export function fields(data) {
  const { tokens, weights } = data;
  const names = Object.keys(weights);
  return [
    choice('by', { label: say`the weight of the`, options: names.map((name) => [name, name]) }),
    slider('i', { label: say`row of ${code('x')}, a token`, stops: range(tokens.length), start: 1, role: 'S' }),
    slider('j', { label: say`row of the weight, a feature`, stops: range(weights[names[0]].length), start: 0, role: 'H' }),
    slider('add', {
      label: say`added to each number of this token`,
      stops: STEPS,
      start: 0,
      text: (value) => number(value),
    }),
    order('order', { label: say`order of the tokens`, words: tokens, role: 'S' }),
  ];
}

/** x as the state has it, the weight, and what comes out; `before` is what came out with nothing added. */
export function made(data, { by, i, order: places, add }) {
  const before = places.map((token) => data.x[token]);
  const x = before.map((row, place) => (place === i ? row.map((value) => value + add) : row));
  const weight = data.weights[by];
  const out = project(x, weight);
  const was = project(before, weight);
  const moved = range(x.length).filter((s) => out[s].some((value, h) => value !== was[s][h]));
  return { x, weight, out, moved, words: places.map((token) => data.tokens[token]) };
}

export const world = (data, state) => ({ full: 3, words: made(data, state).words });

export function sentence(data, state) {
  const { i, j, by, add } = state;
  const { weight, out, moved, words } = made(data, state);
  const name = NAMES[by] || by;
  const sum = say`The row of “${words[i]}” meets row ${j} of the weight: ${dim(`${weight[0].length} products`, 'n_embd')} add up to ${code(`${name}[${i}, ${j}]`)} = ${number(out[i][j])}.`;
  const turned = state.order.some((token, place) => token !== place);
  return [
    ...sum,
    ...(add ? say` With ${number(add)} added to this token, ${rowsMoved(moved, words)} in ${code(name)}.` : []),
    ...(turned ? say` The tokens stand in another order, and so do the rows of ${code(name)}, with the same numbers.` : []),
  ];
}

const rowsMoved = (moved, words) =>
  moved.length === 1 ? `only the row of “${words[moved[0]]}” moves` : `${moved.length} rows move`;

export function facts(data, state) {
  const { x, weight, out, words } = made(data, state);
  const head = (row, word) => ['', ...row.map((_, n) => `${word} ${n}`)];
  return [
    { caption: 'x', head: head(x[0], 'n_embd'), rows: x.map((row, s) => [`${s} ${words[s]}`, ...row]) },
    { caption: `weight of the ${state.by}`, head: head(weight[0], 'n_embd'), rows: weight.map((row, h) => [`H ${h}`, ...row]) },
    { caption: NAMES[state.by] || state.by, head: head(out[0], 'H'), rows: out.map((row, s) => [`${s} ${words[s]}`, ...row]) },
  ];
}

// ---------- drawing

export function draw(scene, data, state) {
  const { x, weight, out, moved } = made(data, state);
  const tensors = [
    matrix('x', x, ['S', 'n_embd']),
    matrix(`w_${(NAMES[state.by] || state.by)}`, weight, ['H', 'n_embd']),
    matrix(NAMES[state.by] || state.by, out, ['S', 'H']),
  ];
  const product = productOf({ op: 'project', kind: 'new', inputs: tensors.slice(0, 2), outputs: [tensors[2]] });
  const places = drawCross(scene, product, { i: state.i, j: state.j });
  drawSum(scene, product, places, state.i, state.j);
  follow(scene, tensors, state, moved);
}

/** A row keeps its token's key, so it travels when the order changes; a row that moved is framed cell by cell. */
function follow(scene, [x, , out], { order: places }, moved) {
  for (const mark of scene.marks) {
    if (!mark.ref || (mark.ref.tensor !== x && mark.ref.tensor !== out)) continue;
    const [place, column] = mark.ref.index;
    mark.key = `${mark.ref.tensor.name}@${places[place]}.${column}`;
    if (mark.ref.tensor === out && moved.length) mark.kind += moved.includes(place) ? ' on' : ' off';
  }
}

export default { fields, world, sentence, draw, facts };
