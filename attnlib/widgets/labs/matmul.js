/* Lab 02, matmul: all scores of a few queries and keys as one product, and the memory of the keys under it. State: { turn,
   i, j, q, k }: how the keys are turned, the score that is read, the numbers. */

import { drawCross } from '../cross.js';
import { code, decimals, dim, number, range, say } from '../kit.js';
import { drawMemory } from '../memory.js';
import { productOf } from '../operands.js';
import { drawSum } from '../sums.js';
import { choice, slider } from './fields.js';
import { matmul, matrix, reshape, transpose } from './matrix.js';
import { numbers } from './numbers.js';

const [H, S] = [dim('H', 'H'), dim('S', 'S')];

// ---------- pure

export const fields = (data) => [
  choice('turn', {
    label: say`${code('q')} is multiplied by`,
    start: 'transpose',
    options: [
      ['nothing', code('k')],
      ['transpose', code('k.transpose(-2, -1)')],
      ['copy', code('k.transpose(-2, -1).contiguous()')],
      ['reshape', code(`k.reshape(${data.k[0].length}, ${data.k.length})`)],
    ],
  }),
  slider('i', { label: say`row i of ${code('q')}: asks`, stops: range(data.q.length), start: 0, role: 'S' }),
  slider('j', { label: say`row j of ${code('k')}: is asked`, stops: range(data.k.length), start: 0, role: 'S' }),
  numbers('q', { label: say`${code('q')}, ${S} × ${H}`, start: data.q, role: 'H' }),
  numbers('k', { label: say`${code('k')}, ${S} × ${H}`, start: data.k, role: 'H' }),
];

/** The right factor and what it gives; `right` are the scores that were wanted. */
export function made(data, { turn, q, k }) {
  const cols = k.length;
  const factor = { nothing: k, reshape: reshape(k, cols) }[turn] || transpose(k);
  return {
    factor,
    scores: q[0].length === factor.length ? matmul(q, factor) : null,
    right: matmul(q, transpose(k)),
    strides: { nothing: [k[0].length, 1], transpose: [1, k[0].length] }[turn] || [cols, 1],
  };
}

export function sentence(data, state) {
  const { i, j, turn, q, k } = state;
  const { factor, scores, right, strides } = made(data, state);
  const place = code(`scores[${i}, ${j}]`);
  const digits = decimals([right, scores || []].flat(2));
  if (!scores) {
    return say`${code('q')} ends in ${H} = ${q[0].length}, but ${code('k')} begins with ${S} = ${k.length}. PyTorch says: ${data.refused}.`;
  }
  const value = number(right[i][j], digits);
  if (turn === 'reshape' || turn === 'nothing') {
    const wanted = transpose(k);
    const isKey = (_, at) => factor.every((row, d) => row[at] === wanted[d][at]);
    if (k.every(isKey)) return say`The shape fits, and with these keys the numbers do too. With other keys they do not: change one number.`;
    const column = isKey(null, j) ? `column ${j} is key ${j} only by chance` : `column ${j} is not key ${j}`;
    const same = scores[i][j] === right[i][j] ? 'as it should be, by chance' : `where row ${j} of the keys gives ${value}`;
    return say`The shape fits, so no error is raised. But ${column}: ${place} is ${number(scores[i][j], digits)}, ${same}.`;
  }
  const memory =
    turn === 'copy'
      ? say`The copy has a second memory, in its own order, with strides (${strides.join(', ')})`
      : say`The transpose moves no number: only the strides change places, (${[...strides].reverse().join(', ')}) becomes (${strides.join(', ')})`;
  return say`Row ${i} of ${code('q')} and row ${j} of ${code('k')} make ${place} = ${value}. ${memory}.`;
}

export function facts(data, state) {
  const { factor, scores } = made(data, state);
  const head = (n, word) => ['', ...range(n).map((at) => `${word} ${at}`)];
  const named = (rows, word) => rows.map((row, n) => [`${word} ${n}`, ...row]);
  return [
    { caption: 'q', head: head(state.q[0].length, 'H'), rows: named(state.q, 'query') },
    { caption: 'k', head: head(state.k[0].length, 'H'), rows: named(state.k, 'key') },
    { caption: 'the right factor', head: head(factor[0].length, 'column'), rows: named(factor, 'row') },
    ...(scores ? [{ caption: 'scores', head: head(scores[0].length, 'key'), rows: named(scores, 'query') }] : []),
    { caption: 'memory, in order', head: head(state.k.flat().length, 'at'), rows: [['number', ...memory(state, factor)]] },
  ];
}

const memory = ({ turn, k }, factor) => (turn === 'copy' ? factor : k).flat();

/** The keys, and what they became: a row of a trace each, as the player has them. */
export function stepsOf({ turn, k }, { factor, strides }) {
  const keys = matrix('k', k, ['S', 'H']);
  const dims = { nothing: ['S', 'H'], reshape: factor && [factor.length, factor[0].length].map(String) }[turn] || ['H', 'S'];
  const view = { ...matrix({ nothing: 'k', reshape: 'k reshaped' }[turn] || 'k transposed', factor, dims), storage: 'k' };
  const turned = { ...view, strides: turn === 'copy' ? [1, k[0].length] : strides };
  if (turn === 'nothing') return { factor: keys, step: null };
  if (turn !== 'copy') {
    const op = turn === 'reshape' ? 'view' : 'transpose';
    return { factor: turned, step: { op, kind: 'view', params: { dim0: 0, dim1: 1 }, inputs: [keys], outputs: [turned] } };
  }
  const copy = { ...view, name: 'copy of kᵀ', storage: 'copy', strides };
  return { factor: copy, step: { op: 'contiguous', kind: 'copy', params: {}, inputs: [turned], outputs: [copy] } };
}

// ---------- drawing

export const world = (data, { q, k }) => ({ full: Math.max(4, ...[q, k].flat(2).map(Math.abs)) });

export function draw(scene, data, state) {
  const { i, j } = state;
  const all = made(data, state);
  const { factor, step } = stepsOf(state, all);
  const inputs = [matrix('q', state.q, ['S', 'H']), factor];
  const keys = state.turn === 'reshape' ? String(all.factor[0].length) : 'S'; // no column is a key then
  const outputs = all.scores ? [matrix('scores', all.scores, ['S', keys])] : [];
  const product = productOf({ op: 'matmul', kind: outputs.length ? 'new' : 'error', inputs, outputs });
  const places = drawCross(scene, product, outputs.length ? { i, j } : {});
  if (outputs.length) drawSum(scene, product, places, i, j);
  for (const mark of scene.marks) {
    if (!mark.ref || mark.ref.tensor !== outputs[0]) continue;
    const [row, col] = mark.ref.index;
    if (all.scores[row][col] !== all.right[row][col]) mark.kind += ' wrong';
  }
  let bottom = Math.max(...scene.marks.map(({ y = 0, h = 0 }) => y + h));
  if (scene.marks.some(({ kind }) => / wrong$/.test(kind))) {
    bottom += 30;
    const means = say`red dashes: not what a row of ${code('q')} and a row of ${code('k')} give`;
    scene.text('dashes', scene.narrow ? 2 : scene.left, bottom, means);
  }
  if (!step) return;
  drawMemory(scene, step, 'made', bottom + (scene.narrow ? 30 : 24));
  const label = scene.marks.find(({ key }) => key === 'memory.label');
  if (label && state.turn === 'reshape') label.parts = say`memory of ${code('k')}; arrows: strides of ${code('k reshaped')}`;
}

export default { fields, world, sentence, draw, facts };
