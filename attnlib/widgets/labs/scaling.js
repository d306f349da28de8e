/* Lab 03, scaling: one row of scores on a line and as weights, and four curves over H. State: { H, by, from }. The scores
   and the curves are recorded from a run; dividing a row and its softmax are done here. */

import { dim, number, range, say } from '../kit.js';
import { softmax } from '../softmax.js';
import { choice, slider } from './fields.js';

const [H, N, S] = [dim('H', 'H'), dim('n_embd', 'n_embd'), dim('S', 'S')];
const CURVES = [
  ['spread of the scores', 1],
  ['largest weight', 1],
  ['entropy', Math.log(8)],
  ['gradient', 0.08],
];
const REACH = 64; // the ends of the line on which scores stand

// ---------- pure

export const fields = (data) => [
  slider('H', { label: say`features of a head, ${H}`, stops: data.sizes, start: 64, role: 'H' }),
  choice('by', {
    label: say`the scores are divided by`,
    options: [
      ['nothing', 'nothing'],
      ['root-H', say`√${H}`],
      ['root-n_embd', say`√${N}, with ${N} = ${data.n_embd}`],
    ],
  }),
  choice('from', {
    label: say`queries and keys`,
    options: [
      ['unit', 'of variance 1'],
      ['fresh', 'made by fresh layers'],
    ],
  }),
];

const divisor = (data, { H: size, by }) =>
  ({ nothing: 1, 'root-H': Math.sqrt(size), 'root-n_embd': Math.sqrt(data.n_embd) })[by];

/** The row that is drawn, divided, and its weights. */
export function rowAt(data, state) {
  const by = divisor(data, state);
  const scores = data.rows[state.from][data.sizes.indexOf(state.H)].map((score) => score / by);
  return { scores, weights: softmax(scores).weights };
}

/** The spread that variances predict: a sum of H products spreads by √H, or by a third of that where each has 1/9. */
export const expected = (data, state) => Math.sqrt(state.H) / (state.from === 'unit' ? 1 : 3) / divisor(data, state);

/** [spread, largest weight, entropy, gradient] of 512 rows. */
export const measured = (data, { H: size, by, from }) => data.sweeps[from][by][data.sizes.indexOf(size)];

export function sentence(data, state) {
  const [spread, largest, entropy] = measured(data, state);
  const many = number(Math.exp(entropy), 1);
  const divided = state.by === 'nothing' ? 'Not divided' : say`Divided by ${number(divisor(data, state))}`;
  return say`${divided}, scores of ${H} = ${state.H} spread by ${number(spread)}: of 8 tokens a row looks at about ${many}, and its largest weight is ${number(largest)} on average.`;
}

export function facts(data, state) {
  const { scores, weights } = rowAt(data, state);
  return [
    {
      caption: 'one row of scores, as it goes into the softmax, and its weights',
      head: ['token', 'score', 'weight'],
      rows: scores.map((score, j) => [j, score, weights[j]]),
    },
    {
      caption: 'measured over 512 rows; gradient: the median, at the softmax',
      head: ['H', ...CURVES.map(([name]) => name)],
      rows: data.sizes.map((size) => [size, ...measured(data, { ...state, H: size })]),
    },
  ];
}

// ---------- drawing

export function draw(scene, data, state) {
  const x = scene.narrow ? 14 : 30;
  const width = Math.min(scene.width - 2 * x - 8, 720);
  const { scores, weights } = rowAt(data, state);
  drawLine(scene, x, 64, width, scores, expected(data, state));
  drawWeights(scene, x, 146, width, weights);
  const dashed = state.by === 'nothing' ? '' : '; dashed: not divided';
  scene.text('measured', x, 226, `512 rows, recorded from a run of PyTorch${dashed}`);
  const cols = scene.narrow ? 2 : 4;
  const gap = scene.narrow ? 40 : 44;
  const w = (width - (cols - 1) * gap - 20) / cols;
  CURVES.forEach(([name, top], n) => {
    const place = { x: x + 20 + (n % cols) * (w + gap), y: 282 + Math.floor(n / cols) * 190, w, h: 110 };
    drawCurve(scene, `curve${n}`, name, n ? top : spreadTop(data, state), place, data, state, n);
  });
}

/** The spread's own scale: as far as it gets for these queries and keys, divided by nothing. */
const spreadTop = (data, state) => Math.max(1, data.sweeps[state.from].nothing.at(-1)[0]);

function drawLine(scene, x, y, width, scores, spread) {
  const at = (score) => x + width / 2 + (score * width) / (2 * REACH);
  const marks = [-64, -32, 0, 32, 64];
  scene.text('line.name', x, y - 40, say`one row of scores, ${S} = 8`, 'ink');
  scene.path('line', `M${x} ${y}h${width}${marks.map((m) => `M${at(m)} ${y - 4}v8`).join('')}`, 'hair');
  marks.forEach((m) => scene.text(`line.${m}`, at(m), y + 20, number(m, 0), 'middle'));
  scene.path('line.spread', `M${at(-spread)} ${y}H${at(spread)}`, 'hop', 'H');
  scene.text('line.expected', x + width, y - 40, [dim(`predicted spread ±${number(spread)}`, 'H')], 'end strong');
  scores.forEach((score, j) => {
    const out = Math.abs(score) > REACH;
    const left = out ? at(Math.sign(score) * REACH) : at(score);
    scene.box(`score${j}`, left - 6, y - 16, 12, 12, out ? 'dot ring' : 'dot');
  });
}

function drawWeights(scene, x, y, width, weights) {
  let left = x;
  scene.text('weights.name', x, y - 12, say`its weights, one bar of length 1`, 'ink');
  weights.forEach((weight, j) => {
    const w = weight * width;
    if (weight > 0) scene.box(`weight${j}`, left, y, w, 26, 'segment', 'S');
    if (w > 34) scene.text(`weight${j}.text`, left + w / 2, y + 44, number(weight), 'middle');
    left += w;
  });
  scene.path('weights.ends', `M${x} ${y - 4}v34M${x + width} ${y - 4}v34`, 'rule');
}

/** One curve over H: as the scores are divided now, and undivided beside it. */
function drawCurve(scene, key, name, top, { x, y, w, h }, data, state, n) {
  const at = (k, value) => [x + (k * w) / (data.sizes.length - 1), y + h - h * Math.min(1, value / top)];
  const path = (by) =>
    data.sizes.map((size, k) => `${k ? 'L' : 'M'}${at(k, measured(data, { ...state, H: size, by })[n])}`).join('');
  const here = measured(data, state)[n];
  const [cx, cy] = at(data.sizes.indexOf(state.H), here);
  scene.path(`${key}.frame`, `M${x} ${y}v${h}h${w}`, 'hair');
  if (state.by !== 'nothing') scene.path(`${key}.other`, path('nothing'), 'series other');
  scene.path(`${key}.line`, path(state.by), 'series');
  scene.path(`${key}.here`, `M${cx} ${y}V${y + h}`, 'axisline', 'H');
  scene.box(`${key}.dot`, cx - 5, cy - 5, 10, 10, 'dot');
  scene.text(`${key}.name`, x, y - 26, name, 'ink');
  scene.text(`${key}.value`, x, y - 10, number(here, n === 3 ? 4 : 2), 'strong ink');
  scene.text(`${key}.top`, x - 4, y + 8, number(top, top < 0.1 ? 2 : top < 10 ? 1 : 0), 'end');
  range(data.sizes.length).forEach((k) => {
    if (k % 5 === 0) scene.text(`${key}.H${k}`, at(k, 0)[0], y + h + 18, [dim(data.sizes[k], 'H')], 'middle');
  });
}

export default { fields, sentence, draw, facts };
