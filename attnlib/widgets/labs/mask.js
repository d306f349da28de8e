/* Lab 04, mask: one mask in three conventions, and what a fill, a dtype and a row that sees nothing make of the weights.
   State: { rows, fill, dtype, way }. All masked scores and weights are recorded runs; nothing is computed here. */

import { drawGrid } from '../grid.js';
import { code, number, range, say } from '../kit.js';
import { sheet } from '../tensor.js';
import { choice } from './fields.js';
import { matrix } from './matrix.js';

const FILLS = [
  ['-inf', '−∞'],
  ['-1e9', '−1e9'],
  ['-1e4', '−1e4'],
  ['lowest', 'the lowest number of the dtype'],
  ['0', '0'],
];
const WORDS = { nan: NaN, inf: Infinity, '-inf': -Infinity };

// ---------- pure

export const fields = (data) => [
  choice('rows', {
    label: say`the mask`,
    options: [
      ['causal', 'causal'],
      ['padded', 'causal, and two padding tokens in front'],
    ],
  }),
  choice('fill', { label: say`what is blocked gets`, options: FILLS }),
  choice('dtype', { label: say`dtype of the scores`, options: Object.keys(data.fills).map((name) => [name, code(name)]) }),
  choice('way', {
    label: say`how it gets there`,
    options: [
      ['fill', code('masked_fill')],
      ['add', 'an additive mask'],
    ],
  }),
];

const read = (rows) => rows.map((row) => row.map((value) => WORDS[value] ?? value));

/** The run that was recorded for a state, and what is wrong with it. */
export function runAt(data, { rows, fill, dtype, way }) {
  const run = data.runs[`${rows} ${dtype} ${fill} ${way}`];
  const may = data.may[rows];
  const ours = data.ours[`${rows} ${dtype}`];
  const stored = read([[data.fills[dtype][FILLS.findIndex(([name]) => name === fill)]]])[0][0];
  if (run.error) return { error: run.error, may, ours, stored, leaks: [], lost: [] };
  const [masked, weights] = [read(run.masked), read(run.weights)];
  const places = range(may.length).flatMap((i) => range(may.length).map((j) => [i, j]));
  return {
    may,
    ours,
    masked,
    weights,
    stored,
    leaks: places.filter(([i, j]) => !may[i][j] && weights[i][j] > 0),
    lost: range(may.length).filter((i) => weights[i].some(Number.isNaN)),
  };
}

const rowsOf = (places) => [...new Set(places.map(([i]) => i))];
const listed = (rows) => `row${rows.length > 1 ? 's' : ''} ${rows.join(' and ')}`;

export function sentence(data, state) {
  const { error, leaks, lost, stored, may, weights } = runAt(data, state);
  const dtype = code(state.dtype);
  if (error) return say`${dtype} has no such number. PyTorch says: ${error}.`;
  if (lost.length) {
    return say`In ${listed(lost)} nothing is left: every score is −∞, and softmax makes NaN of that. Zeros, as on the right, are what you want.`;
  }
  if (leaks.length) {
    const blind = rowsOf(leaks).filter((i) => !may[i].some(Boolean));
    return blind.length
      ? say`${listed(blind).replace('r', 'R')} may attend to nothing, and yet ${blind.length > 1 ? 'they look' : 'it looks'} at everything, the future too: ${number(weights[blind[0]][3])} for the last token. No error tells you; this library gives zeros.`
      : say`${leaks.length} blocked places get a weight, up to ${number(Math.max(...leaks.map(([i, j]) => weights[i][j])))}: ${FILLS.find(([name]) => name === state.fill)[1]} is not low enough.`;
  }
  const became = state.fill === '-1e9' && stored !== -1e9 ? say` ${dtype} stores −1e9 as ${String(stored).replace('-', '−')}.` : [];
  return say`Every blocked place has a weight of exactly 0, and every row adds up to 1.${became}`;
}

export function facts(data, state) {
  const { error, may, masked, weights, ours } = runAt(data, state);
  const head = ['', ...range(may.length).map((j) => `key ${j}`)];
  const named = (rows) => rows.map((row, i) => [`query ${i}`, ...row.map((value) => (typeof value === 'boolean' ? number(value) : value))]);
  return [
    { caption: 'may_attend, True may', head, rows: named(may) },
    ...(error ? [] : [{ caption: 'masked scores', head, rows: named(masked) }]),
    ...(error ? [] : [{ caption: 'weights by torch.softmax, of PyTorch', head, rows: named(weights) }]),
    { caption: 'weights by attention_weights, of this library', head, rows: named(ours) },
  ];
}

// ---------- drawing

export const world = () => ({ full: 1 });

export function draw(scene, data, state) {
  const { error, may, masked, weights, ours, stored } = runAt(data, state);
  const blocked = (i, j) => !may[i][j];
  const over = (make) => may.map((row, i) => row.map((allowed, j) => make(allowed, i, j)));
  const isFill = (value) => value === -Infinity;
  const leak = (i, j) => (blocked(i, j) && weights[i][j] > 0 ? 'wrong' : '');
  const zero = (rows) => (i, j) => blocked(i, j) && rows[i][j] === 0;
  const items = [
    ['may', 'boolean: True may', over((allowed) => allowed), { hatch: blocked }],
    ['may not', 'nn.MultiheadAttention: True may not', over((allowed) => !allowed), { hatch: blocked }],
    ['added', 'additive: 0 may', error ? null : over((allowed) => (allowed ? 0 : stored)), { hatch: (i, j) => isFill(blocked(i, j) && stored) }],
    ['masked', 'masked scores', masked, { hatch: (i, j) => masked[i][j] === -Infinity }],
    ['weights', 'PyTorch: torch.softmax', weights, { hatch: (i, j) => zero(weights)(i, j), kind: leak }],
    ['ours', 'this library: attention_weights', ours, { hatch: (i, j) => zero(ours)(i, j) }],
  ];
  const cols = scene.narrow ? 2 : 3;
  const [w, h] = scene.narrow ? [40, 28] : [Math.min(54, (scene.width - 200) / 12), 34];
  const [left, across, down] = scene.narrow ? [30, 4 * w + 18, 4 * h + 92] : [70, 4 * w + 60, 4 * h + 110];
  items.forEach(([key, name, rows, options], n) => {
    const [x, y] = [left + (n % cols) * across, 62 + Math.floor(n / cols) * down];
    if (rows) drawMask(scene, key, rows, x, y, { w, h, first: n % cols === 0, ...options });
    else scene.text(`${key}.none`, x, y + 20, 'no result', 'bad strong');
    writeName(scene, key, name, x, y - 32, 4 * w);
  });
  const low = 62 + Math.ceil(items.length / cols) * down - 44;
  scene.text('recorded', left, low, say`Recorded from a run of PyTorch in ${code(state.dtype)}.`);
  scene.text('zeros', left, low + 20, say`A row that may see nothing is zeros in this library.`);
}

function writeName(scene, key, name, x, y, width) {
  const [head, tail] = name.split(': ');
  const small = width < 170;
  scene.text(`${key}.name`, x, small && tail ? y - 14 : y, say`${tail && !small ? `${head}: ${tail}` : head}`, 'ink strong');
  if (small && tail) scene.text(`${key}.tail`, x, y, tail, 'ink');
}

function drawMask(scene, key, rows, x, y, { w, h, first, hatch, kind }) {
  const view = sheet(matrix(key, rows, ['S', 'S']), {});
  const from = scene.marks.length;
  drawGrid(scene, view, x, y, {
    w,
    h,
    id: key,
    name: false,
    plain: true,
    words: 'none',
    row: first ? { word: 'queries' } : { bare: true },
    col: { word: 'keys' },
    kind,
    masked: () => false,
  });
  for (const mark of scene.marks.slice(from)) {
    if (mark.type !== 'cell') continue;
    const [i, j] = mark.ref.index;
    if (hatch(i, j)) mark.kind = `masked ${mark.kind}`;
  }
}

export default { fields, world, sentence, draw, facts };
