/* Lab 07, heads: where each number of a token lands. State: { n_embd, heads, S, way, token }. A number is called by its
   place in memory; it is tinted by the head that reads it, and dashed in red where another number should stand. */

import { drawGrid } from '../grid.js';
import { code, dim, range, say } from '../kit.js';
import { sheet } from '../tensor.js';
import { choice, slider } from './fields.js';
import { matrix, reshape } from './matrix.js';

const [S, N, H] = [dim('S', 'S'), dim('n_embd', 'n_embd'), dim('H', 'H')];

// ---------- pure

export const fields = (data) => [
  slider('n_embd', { label: say`features of a token, ${N}`, stops: data.widths, start: 8, role: 'n_embd' }),
  slider('heads', { label: say`heads`, stops: data.heads, start: 2, role: 'heads' }),
  slider('S', { label: say`tokens, ${S}`, stops: data.lengths, start: 3, role: 'S' }),
  choice('way', {
    label: say`cut by`,
    options: [
      ['right', say`${code('view')}, then ${code('transpose')}`],
      ['view', say`${code('view')} alone`],
    ],
  }),
  slider('token', { label: say`the token that is followed`, stops: range(Math.max(...data.lengths)), start: 1, role: 'S' }),
];

const legal = ({ n_embd, heads }) => n_embd % heads === 0;

/** [head][token][feature] -> the place in memory that stands there. */
function cut({ n_embd, heads, S: length, way }) {
  const size = n_embd / heads;
  const placeOf = (h, s, d) => (way === 'right' ? s * n_embd + h * size + d : h * length * size + s * size + d);
  return range(heads).map((h) => range(length).map((s) => range(size).map((d) => placeOf(h, s, d))));
}

/** Which head reads each place. */
function owners(state) {
  const found = [];
  cut(state).forEach((rows, h) => rows.flat().forEach((place) => (found[place] = h)));
  return found;
}

/** Whether a place stands where another should. */
const misplaced = (state, h, s, d) =>
  cut(state)[h][s][d] !== cut({ ...state, way: 'right' })[h][s][d];

/** Strides of the result, axes (heads, S, H). */
const strides = ({ n_embd, heads, S: length, way }) =>
  way === 'right' ? [n_embd / heads, n_embd, 1] : [(length * n_embd) / heads, n_embd / heads, 1];

/** What a state comes to: the places of every head, the strides, the places that stand in the wrong cell. */
export const landed = (data, state) => ({ heads: cut(state), strides: strides(state), wrong: wrongOf(state) });

const wrongOf = (state) =>
  cut(state).flatMap((rows, h) => rows.flatMap((row, s) => row.filter((_, d) => misplaced(state, h, s, d))));

const followed = (state) => Math.min(state.token, state.S - 1);

export function sentence(data, state) {
  const { n_embd, heads, S: length, way } = state;
  if (!legal(state)) {
    return say`${dim(`n_embd = ${n_embd}`, 'n_embd')} cannot be cut into ${dim(`${heads} heads`, 'heads')} of the same size: ${code('view')} raises.`;
  }
  const size = n_embd / heads;
  const wrong = wrongOf(state).length;
  if (way === 'right' || wrong === 0) {
    return say`Each head reads ${dim(`H = ${size}`, 'H')} columns of every token, head ${heads - 1} the columns ${(heads - 1) * size} to ${n_embd - 1}; its rows lie ${n_embd} places apart, and nothing has moved.`;
  }
  return say`${code('view')} alone deals out memory from its beginning: ${wrong} of ${length * n_embd} numbers stand where another should, and the shape ${code(`(${heads}, ${length}, ${size})`)} does not tell.`;
}

export function facts(data, state) {
  if (!legal(state)) return [{ caption: 'no cut', head: ['n_embd', 'heads'], rows: [[state.n_embd, state.heads]] }];
  const rows = cut(state).flatMap((head, h) =>
    head.map((row, s) => [`head ${h}, token ${s}`, row.join(' '), row.some((_, d) => misplaced(state, h, s, d)) ? 'wrong' : 'right']),
  );
  return [
    { caption: 'which places of memory each row holds', head: ['row', 'places', ''], rows },
    { caption: 'strides', head: ['heads', 'S', 'H'], rows: [strides(state)] },
  ];
}

// ---------- drawing

const tintOf = (head, heads) =>
  head === undefined
    ? undefined
    : `color-mix(in oklab, var(--heads-fill) ${heads > 1 ? Math.round(9 + (36 * head) / (heads - 1)) : 9}%, var(--paper))`;

export function draw(scene, data, state) {
  const { n_embd, heads, S: length } = state;
  const places = reshape([range(length * n_embd)], n_embd);
  const owner = legal(state) ? owners(state) : [];
  const fill = (place) => tintOf(owner[place], heads) || 'var(--v-zero)';
  const x = scene.narrow ? 30 : 60;
  const w = Math.min(scene.cellWidth, (scene.width - x - 10) / n_embd);
  const mine = (place) => Math.floor(place / n_embd) === followed(state);
  const top = drawGrid(scene, sheet(matrix('x', places, ['S', 'n_embd']), {}), x, 66, {
    w,
    words: false,
    digits: 0,
    key: (i, j) => `x@${places[i][j]}`,
    fill: (i, j) => fill(places[i][j]),
    kind: (i) => (i === followed(state) ? 'on' : ''),
    pick: (i) => ({ token: i }),
  });
  const low = drawStrip(scene, state, top.bottom + 62, fill, mine);
  if (!legal(state)) {
    scene.text('none', x, low + 40, say`${n_embd} ÷ ${heads} is no whole number: no heads`, 'bad strong');
    return;
  }
  drawHeads(scene, state, x, low + 92, w, fill, mine);
}

/** Memory as one line, a token after the other, in the colours of the heads that read it. */
function drawStrip(scene, { n_embd, S: length }, y, fill, mine) {
  const n = length * n_embd;
  const x = 6;
  const w = Math.min(34, (scene.width - 12) / n);
  scene.text('memory', x, y - 14, say`memory, place by place`);
  range(n).forEach((place) =>
    scene.cell(`memory@${place}`, x + place * w, y, place, { w, h: 24, digits: 0, fill: fill(place), kind: mine(place) ? 'on' : '' }),
  );
  range(length).forEach((s) => scene.text(`memory.${s}`, x + s * n_embd * w, y + 42, [dim(`token ${s}`, 'S')], 'strong'));
  return y + 24;
}

function drawHeads(scene, state, x0, y0, w, fill, mine) {
  const gap = scene.narrow ? 44 : 60;
  let [x, y] = [x0, y0];
  cut(state).forEach((rows, h) => {
    const width = rows[0].length * w;
    if (x > x0 && x + width > scene.width - 4) [x, y] = [x0, y + rows.length * scene.cellHeight + 84];
    const view = sheet(matrix(`head ${h}`, rows, ['S', 'H']), {});
    drawGrid(scene, view, x, y, {
      w,
      words: false,
      digits: 0,
      key: (s, d) => `head@${rows[s][d]}`,
      fill: (s, d) => fill(rows[s][d]),
      kind: (s, d) => [mine(rows[s][d]) ? 'on' : '', misplaced(state, h, s, d) ? 'wrong' : ''].join(' '),
    });
    x += Math.max(width, scene.narrow ? 40 : 56) + gap;
  });
  const [a, b, c] = strides(state);
  const low = y + state.S * scene.cellHeight + 34;
  scene.text('strides', x0, low, say`strides of (${dim('heads', 'heads')}, ${S}, ${H}): (${dim(a, 'heads')}, ${dim(b, 'S')}, ${dim(c, 'H')})`, 'ink');
}

export const world = (data, { S: length, n_embd }) => ({ full: length * n_embd });

export default { fields, world, sentence, draw, facts };
