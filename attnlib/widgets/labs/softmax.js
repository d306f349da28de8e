/* Lab 05, softmax: a row of scores is shifted, exponentiated and normalised, and the weights mix the values.
   State: { scores, T, add, shift }. Powers are rounded to float32, as PyTorch's are; two of them are recorded. */

import { code, dim, number, say } from '../kit.js';
import { drawLedger } from '../ledger.js';
import { choice, slider } from './fields.js';
import { dot, transpose } from './matrix.js';
import { numbers } from './numbers.js';

const f32 = Math.fround;

// ---------- pure

export const fields = (data) => [
  numbers('scores', {
    label: say`scores of one query, one for each token`,
    start: data.scores.map((score) => [score]),
    heads: data.tokens,
    role: 'S',
    most: 100,
    step: 0.1,
  }),
  slider('T', { label: say`temperature: the scores are divided by`, stops: [0.1, 0.25, 0.5, 1, 2, 4, 10, 100], start: 1 }),
  slider('add', { label: say`added to all scores alike`, stops: [-100, -10, 0, 10, 100], start: 0 }),
  choice('shift', {
    label: say`before ${code('exp')}`,
    options: [
      ['yes', 'subtract the largest'],
      ['no', 'leave them as they are'],
    ],
  }),
];

/** The row after every step, and the mix. */
export function made(data, { scores, T, add, shift }) {
  const divided = scores.map(([score]) => f32((score + add) / T));
  const top = Math.max(...divided);
  const shifted = divided.map((score) => (shift === 'yes' ? f32(score - top) : score));
  const powers = shifted.map((score) => f32(Math.exp(score)));
  const sum = f32(powers.reduce((a, b) => a + b, 0));
  const weights = powers.map((power) => power / sum);
  const columns = transpose(data.values);
  return { divided, top, shifted, powers, sum, weights, output: columns.map((column) => dot(weights, column)), columns };
}

const listed = (values) => values.map((value) => number(value)).join(', ');

export function sentence(data, state) {
  const { weights, output, sum } = made(data, state);
  if (sum === Infinity) {
    return say`Without the shift a power is too large for ${code('float32')}: infinity divided by infinity is no number, and the output is lost.`;
  }
  if (sum === 0) {
    return say`Without the shift every power is too small for ${code('float32')}: 0 divided by 0 is no number, and the output is lost.`;
  }
  const most = weights.indexOf(Math.max(...weights));
  return say`The largest weight, ${dim(number(weights[most]), 'S')}, goes to “${data.tokens[most]}”; the output is (${listed(output)}), between the smallest and the largest value of each feature.`;
}

export function facts(data, state) {
  const { divided, shifted, powers, weights, output } = made(data, state);
  return [
    {
      caption: 'one row, step by step',
      head: ['token', 'score ÷ temperature', state.shift === 'yes' ? 'minus the largest' : 'not shifted', 'exp', 'weight'],
      rows: data.tokens.map((word, j) => [word, divided[j], shifted[j], powers[j], weights[j]]),
    },
    {
      caption: 'values and their mix',
      head: ['', ...output.map((_, h) => `H ${h}`)],
      rows: [...data.tokens.map((word, j) => [word, ...data.values[j]]), ['output', ...output]],
    },
  ];
}

// ---------- drawing

export function draw(scene, data, state) {
  const x = scene.narrow ? 100 : 136;
  const row = drawRow(scene, data, state, x, 68);
  const right = row.right + 190;
  const beside = scene.wide && right + data.values[0].length * 44 + 70 < scene.width;
  drawMix(scene, data, state, beside ? right : x, beside ? 68 : row.bottom + 70);
}

function drawRow(scene, data, state, x, y) {
  const { divided, top, shifted, powers, sum, weights } = made(data, state);
  const n = weights.length;
  const most = 6 * Math.max(...data.tokens.map((word) => word.length)) + 6;
  const w = Math.min(Math.max(scene.cellWidth, Math.min(most, 60)), (scene.width - x - 6) / n);
  heads(data.tokens, w).forEach((word, j) => scene.text(`word${j}`, x + (j + 0.5) * w, y - 38, word, 'middle small'));
  const shift = state.shift === 'yes' ? `− max (${number(top)})` : 'not shifted';
  const low = drawLedger(scene, 'row', x, y, w, 'S', [
    { label: 'score', values: state.scores.map(([score]) => score + state.add) },
    { label: `÷ ${state.T}`, values: divided },
    { label: shift, values: shifted },
    { label: 'exp', values: powers },
    { label: `÷ sum (${number(sum)})`, values: weights, ruled: true, on: () => true },
  ]);
  const bottom = drawBar(scene, weights, x, low + 22, n * w);
  const [small, large] = data.edge.map((edge, n) => `e^${edge} = ${power(data.recorded[n])}`);
  scene.text('recorded', scene.narrow ? 2 : x, bottom + 30, say`recorded in ${code('float32')}:`);
  scene.text('recorded.powers', scene.narrow ? 2 : x, bottom + 48, `${small}, ${large}`);
  return { right: x + n * w, bottom: bottom + 48 };
}

const power = (value) => (value === 'inf' ? '+∞' : value.toExponential(2).replace('e+', 'e'));
const short = (word, w) => (word.length * 6 > w ? `${word.slice(0, Math.max(1, Math.floor(w / 6) - 1))}…` : word);

/** The tokens over columns of width w; their places, where shortened words are no longer told apart. */
function heads(tokens, w) {
  const words = tokens.map((word) => short(word, w));
  const lost = words.some((word, j) => word !== tokens[j] && words.indexOf(word) !== words.lastIndexOf(word));
  return lost ? tokens.map((_, j) => String(j)) : words;
}

/** The weights as parts of one bar of length 1; nothing where they are no numbers. */
function drawBar(scene, weights, x, y, width) {
  let left = x;
  weights.forEach((weight, j) => {
    if (!(weight > 0)) return;
    scene.box(`bar${j}`, left, y, weight * width, 22, 'segment', 'S');
    left += weight * width;
  });
  scene.path('bar.ends', `M${x} ${y - 4}v30M${x + width} ${y - 4}v30`, 'rule');
  scene.text('bar.one', x - 10, y + 16, 'one bar, 1 long', 'end');
  return y + 26;
}

function drawMix(scene, data, state, x, y) {
  const { weights, output, columns } = made(data, state);
  const w = Math.min(scene.cellWidth, (scene.width - x - 62) / output.length);
  const rows = data.tokens.map((word, j) => ({
    label: `${number(weights[j])} × “${word.slice(0, 7)}”`,
    values: data.values[j].map((value) => weights[j] * value),
  }));
  drawLedger(scene, 'mix', x, y, w, 'H', [
    ...rows,
    { label: 'sum: the output', kind: 'ink', values: output, ruled: true, on: () => true },
  ]);
  drawLedger(scene, 'ends', x, y + (rows.length + 1) * scene.line + 54, w, 'H', [
    { label: 'largest value', values: columns.map((column) => Math.max(...column)) },
    { label: 'smallest value', values: columns.map((column) => Math.min(...column)) },
  ]);
  weights.forEach((weight, j) => {
    const at = y + (j + 0.5) * scene.line - 6;
    if (weight > 0) scene.box(`share${j}`, x + output.length * w + 8, at, Math.max(1, weight * 50), 12, 'segment', 'S');
  });
}

export default { fields, sentence, draw, facts };
