/* Lab 06, one head: the whole pipeline with the reader's numbers. State: { x, w_q, w_k, w_v, mask, scale, i }: the input,
   three weights, who may look at whom, what the scores are divided by, and the token that asks. */

import { drawGrid } from '../grid.js';
import { code, dim, element, number, range, say, write } from '../kit.js';
import { softmax } from '../softmax.js';
import { sheet } from '../tensor.js';
import { choice, slider } from './fields.js';
import { matmul, matrix, project } from './matrix.js';
import { numbers } from './numbers.js';

const PARTS = [
  ['w_q', 'query'],
  ['w_k', 'key'],
  ['w_v', 'value'],
];

// ---------- pure

/** A field under a line that opens it. */
function folded(field, words) {
  const control = (set, signal) => {
    const { node, show } = field.control(set, signal);
    return { node: element('details', { class: 'list' }, write(element('summary'), words), node), show };
  };
  return { ...field, control };
}

export const fields = (data) => [
  numbers('x', { label: say`the tokens, ${code('x')}`, start: data.x, heads: data.tokens, role: 'S', step: 0.1 }),
  ...PARTS.map(([name, part]) =>
    folded(
      numbers(name, { label: say`one row a feature`, start: data[name], role: 'H', step: 0.1 }),
      say`the weight of the ${part}, ${code(name)}`,
    ),
  ),
  slider('i', { label: say`the token that asks`, stops: range(data.x.length), start: data.x.length - 1, role: 'S' }),
  choice('mask', {
    label: say`a token sees`,
    options: [
      ['causal', 'itself and earlier ones'],
      ['none', 'all tokens'],
    ],
  }),
  choice('scale', {
    label: say`the scores are divided by`,
    options: [
      ['root', say`√${dim('H', 'H')}`],
      ['nothing', 'nothing'],
    ],
  }),
];

/** Without the dust that sums of decimals leave where they cancel: 0 is written as 0. */
const swept = (rows) => rows.map((row) => row.map((value) => (Math.abs(value) < 1e-12 ? 0 : value)));

/** Every step of the head, as matrices. */
export function made(data, { x, w_q, w_k, w_v, mask, scale }) {
  const [q, k, v] = [w_q, w_k, w_v].map((weight) => swept(project(x, weight)));
  const scores = swept(project(q, k));
  const by = scale === 'root' ? Math.sqrt(w_q.length) : 1;
  const scaled = scores.map((row) => row.map((score) => score / by));
  const masked = scaled.map((row, i) => row.map((score, j) => (mask === 'causal' && j > i ? -Infinity : score)));
  const weights = masked.map((row) => softmax(row).weights);
  return { x, q, k, v, scores, scaled, masked, weights, output: matmul(weights, v) };
}

export const world = (data) => ({ full: 3, words: data.tokens });

const shares = (data, row) => row.map((weight, j) => `${number(weight)} of “${data.tokens[j]}”`).join(', ');

export function sentence(data, state) {
  const { weights, output } = made(data, state);
  const mix = output[state.i].map((value) => number(value)).join(', ');
  return say`“${data.tokens[state.i]}” asks; its output is a mix of the values, ${shares(data, weights[state.i])}: (${mix}).`;
}

export function facts(data, state) {
  const all = made(data, state);
  return Object.entries(all).map(([name, rows]) => ({
    caption: name,
    head: ['', ...rows[0].map((_, j) => String(j))],
    rows: rows.map((row, i) => [data.tokens[i], ...row]),
  }));
}

// ---------- drawing

const WIDE = [
  ['x', 'q', 'k', 'v'],
  ['scores', 'scaled', 'masked', 'weights'],
  ['output'],
];
const CLOSE = [['x', 'q'], ['k', 'v'], ['scores', 'scaled'], ['masked', 'weights'], ['output']];

/** How each step is made, in words that stand under it. */
const hows = ({ mask, scale }) => ({
  q: 'x @ w_qᵀ',
  k: 'x @ w_kᵀ',
  v: 'x @ w_vᵀ',
  scores: 'q @ kᵀ',
  scaled: scale === 'root' ? 'scores ÷ √H' : 'scores ÷ 1',
  masked: mask === 'causal' ? 'later: −∞' : 'all seen',
  weights: 'softmax, row by row',
  output: 'weights @ v',
});

export function draw(scene, data, state) {
  const all = made(data, state);
  const lines = scene.wide ? WIDE : CLOSE;
  const gap = scene.narrow ? 62 : 66;
  const most = Math.max(...lines.map((line) => line.reduce((n, name) => n + all[name][0].length, 0)));
  const room = scene.width - scene.left - 3 * gap - 40;
  const w = scene.wide ? Math.max(26, Math.min(scene.cellWidth, room / most)) : scene.cellWidth;
  let y = 70;
  for (const line of lines) {
    let x = scene.left;
    for (const name of line) {
      const place = drawStep(scene, name, all[name], x, y, w, { state, first: name === line[0] });
      scene.text(`${name}.how`, x, place.bottom + 20, hows(state)[name] || 'yours', 'small');
      x = place.right + gap;
    }
    y += all.x.length * scene.cellHeight + (scene.narrow ? 92 : 104);
  }
}

function drawStep(scene, name, rows, x, y, w, { state, first }) {
  const square = ['scores', 'scaled', 'masked', 'weights'].includes(name);
  const view = sheet(matrix(name, rows, ['S', square ? 'S' : name === 'x' ? 'n_embd' : 'H']), {});
  const asks = !['k', 'v'].includes(name);
  const place = drawGrid(scene, view, x, y, {
    w,
    words: first,
    lit: asks ? { i: state.i } : {},
    pick: asks ? (i) => ({ i }) : undefined,
    key: (i, j) => `${name}@${i}.${j}`,
    masked: name === 'weights' && state.mask === 'causal' ? (value) => value === 0 : undefined,
  });
  if (asks) scene.band(`${name}.row`, place, { i: state.i });
  return place;
}

export default { fields, world, sentence, draw, facts };
