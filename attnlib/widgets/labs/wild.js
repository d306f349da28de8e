/* Lab 08, masks in the wild: a pattern, changed cell by cell. State: { pattern, n, i, j, flips }: the number n is the
   pattern's width; flips are the cells a reader has turned over, as "i.j". The weights are computed from the scores. */

import { drawGrid } from '../grid.js';
import { code, dim, element, range, say } from '../kit.js';
import { softmax } from '../softmax.js';
import { sheet } from '../tensor.js';
import { choice, slider } from './fields.js';
import { matrix } from './matrix.js';

const N = 6;
const MEANS = {
  causal: 'not used here',
  padding: 'real tokens',
  band: 'tokens in the window',
  global: 'global tokens',
  prefix: 'tokens of the prefix',
  cache: 'new tokens, that ask',
};

// ---------- pure

/** Cells turned over, toggled by the figure or by a button for the chosen cell. */
function flips() {
  return {
    name: 'flips',
    start: [],
    read(word) {
      const cells = word.split(',');
      return cells.every((cell) => /^[0-5]\.[0-5]$/.test(cell)) ? cells : undefined;
    },
    control(set, signal) {
      const node = element('button', { type: 'button', class: 'tool', 'data-field': 'flips' });
      let last = null;
      node.addEventListener('click', () => set(flipped(last, last.i, last.j)), { signal });
      const show = (_, state) => {
        last = { ...state, i: queryOf(state) };
        node.textContent = `Turn over query ${last.i}, key ${last.j}`;
      };
      return { node, show };
    },
  };
}

/** The state in which one more cell is turned over, or turned back. */
export function flipped(state, i, j) {
  const cell = `${i}.${j}`;
  const others = state.flips.filter((other) => other !== cell);
  return { i, j, flips: others.length === state.flips.length ? [...others, cell] : others };
}

export function fields(data) {
  const cells = range(N);
  const names = Object.keys(data.rules);
  return [
    choice('pattern', { label: say`pattern`, options: names.map((name) => [name, name]) }),
    slider('n', { label: say`${code('n')} of the pattern`, stops: range(N + 1).slice(1), start: 3, used: usesN }),
    whoAsks(cells),
    slider('j', { label: say`key ${code('j')}, who is asked`, stops: cells, start: 1, role: 'S' }),
    flips(),
  ];
}

const usesN = ({ pattern }) => pattern !== 'causal';

/** A slider that stands on a query of the pattern, also where the chosen one does not ask. */
function whoAsks(stops) {
  const field = slider('i', { label: say`query ${code('i')}, who asks`, stops, start: 2, role: 'S' });
  return {
    ...field,
    control(set, signal) {
      const { node, show } = field.control(set, signal);
      return { node, show: (_, state) => show(queryOf(state), state) };
    },
  };
}

const RULES = {
  causal: (i, j) => j <= i,
  padding: (i, j, n) => j < n,
  band: (i, j, n) => j <= i && i - j < n,
  global: (i, j, n) => Math.abs(i - j) <= 1 || i < n || j < n,
  prefix: (i, j, n) => j <= i || j < n,
  cache: (i, j) => j <= i,
};

/** The queries of a pattern: with a cache only the newest ask. */
export const asking = ({ pattern, n }) => (pattern === 'cache' ? range(N).slice(N - n) : range(N));

/** The query that is read: the chosen one, or the first that asks after it. */
export const queryOf = (state) => Math.max(state.i, asking(state)[0]);

/** The pattern as it is before anybody paints: rows for the queries that ask. */
export const plainMask = (state) =>
  asking(state).map((i) => range(N).map((j) => RULES[state.pattern](i, j, state.n)));

/** The mask with the painted cells turned over, and the weights under it. */
export function made(data, state) {
  const queries = asking(state);
  const mask = plainMask(state).map((row, r) => row.map((open, j) => open !== state.flips.includes(`${queries[r]}.${j}`)));
  const weights = mask.map((row, r) => softmax(row.map((open, j) => (open ? data.scores[queries[r]][j] : -Infinity))).weights);
  return { queries, mask, weights };
}

const painted = (state) => state.flips.filter((cell) => asking(state).includes(Number(cell.split('.')[0]))).length;

export function sentence(data, state) {
  const { queries, mask } = made(data, state);
  const open = mask.flat().filter(Boolean).length;
  const late = queries.filter((i, r) => mask[r].some((may, j) => may && j > i)).length;
  const blind = queries.filter((_, r) => !mask[r].includes(true));
  const pairs = say`${dim(`${open} of ${mask.flat().length} pairs`, 'S')} are open`;
  const future = late ? `${late} ${late === 1 ? 'query sees' : 'queries see'} a later token` : 'nobody sees a later token';
  const none = blind.length ? say` “${data.tokens[blind[0]]}” sees nothing: its weights are 0 in this library, NaN in ${code('torch.softmax')}.` : [];
  return say`${pairs}, and ${future}.${none}`;
}

export function facts(data, state) {
  const { queries, mask, weights } = made(data, state);
  const head = ['', ...data.tokens];
  return [
    { caption: 'mask: may this query look at this key?', head, rows: mask.map((row, r) => [data.tokens[queries[r]], ...row.map((open) => (open ? 'yes' : 'no'))]) },
    { caption: 'weights', head, rows: weights.map((row, r) => [data.tokens[queries[r]], ...row]) },
    { caption: 'pattern', head: ['pattern', 'in PyTorch', 'n', 'cells turned over'], rows: [[state.pattern, data.rules[state.pattern], state.n, painted(state)]] },
  ];
}

export const world = (data) => ({ full: 1, words: data.tokens });

// ---------- drawing

export function draw(scene, data, state) {
  const { queries, mask, weights } = made(data, state);
  const r = queries.indexOf(queryOf(state));
  const x = scene.narrow ? 72 : scene.left;
  const stacked = !scene.wide;
  const low = 118 + (stacked ? 110 + mask.length * scene.cellHeight : 0);
  scene.text('rule', scene.narrow ? 2 : x, 18, say`${code(`may_attend = ${data.rules[state.pattern]}`)}`, 'ink');
  scene.text('n', scene.narrow ? 2 : x, 38, !usesN(state) ? say`${code('n')} is not used` : say`${code('n')} = ${state.n}: ${MEANS[state.pattern]}`);
  const named = !scene.narrow && queries.length === N; // then the scene names the rows itself
  const row = named ? {} : { away: scene.narrow ? 44 : 56 };
  const options = { words: scene.narrow ? 'none' : named, row, lit: { i: r, j: state.j } };
  const grid = (name, rows, at, y, more) => {
    const view = sheet(matrix(name, rows, ['S', 'S']), {});
    if (!named) queries.forEach((i, n) => nameQuery(scene, `${name}.query${i}`, data.tokens[i], at, y, n));
    const place = drawGrid(scene, view, at, y, { ...options, key: (a, b) => `${name}@${queries[a]}.${b}`, ...more });
    if (scene.narrow) range(N).forEach((j) => scene.text(`${name}.key${j}`, at + (j + 0.5) * place.w, place.bottom + 14, String(j), 'middle small'));
    return place;
  };
  const pick = (a, b) => flipped(state, queries[a], b);
  const kind = (a, b) => (state.flips.includes(`${queries[a]}.${b}`) ? 'on' : '');
  const first = grid('may_attend', mask, x, 118, { pick, kind });
  const second = grid('weights', weights, stacked ? x : first.right + 130, low, {
    masked: (value) => value === 0,
    pick: (a, b) => ({ i: queries[a], j: b }),
  });
  scene.band('cell', first, { i: r, j: state.j });
  scene.band('row', second, { i: r });
  scene.text('hint', first.x, first.bottom + (scene.narrow ? 34 : 22), 'click or tap a cell to turn it over', 'small');
}

const nameQuery = (scene, key, word, x, y, n) =>
  scene.text(key, x - 16, y + (n + 0.5) * scene.cellHeight + 4, word.slice(0, 8), 'end small');

export default { fields, world, sentence, draw, facts };
