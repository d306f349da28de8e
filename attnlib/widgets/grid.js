/* A sheet as a grid: its cells, or a block to scale where they cannot be told apart; the sheets behind it; its name. */

import { drawAxes } from './axes.js';
import { clamp, plain, range, say } from './kit.js';
import { axisRole, brief, dimSize, isClosed, shown, wordsAlong } from './tensor.js';

const SINGLE = 5; // a smaller cell is not drawn by itself: the grid becomes a block, to scale
const CELLS = 1024;

/** Whether so many lines cannot be told apart at this size. */
const isElided = (n, size) => size < SINGLE || n > 200;

/** Where the lines of a side are drawn: every one, or the first three and the last three. */
function linesOf(n, size) {
  if (!isElided(n, size)) return range(n - 1).map((i) => (i + 1) * size);
  const few = range(n * size > 8 * SINGLE ? 3 : 0).map((i) => (i + 1) * SINGLE);
  return [...few, ...few.map((at) => n * size - at)];
}

/** A sheet as a labelled grid. Returns where it stands. */
export function drawGrid(scene, view, x, y, options = {}) {
  const { w = scene.cellWidth, h = scene.cellHeight, id = view.tensor.storage, stack = view.stack } = options;
  const place = {
    x,
    y,
    w,
    h,
    rows: view.rows,
    cols: view.cols,
    right: x + view.cols * w,
    bottom: y + view.rows * h,
  };
  place.block = !view.tensor.values || w < SINGLE || h < SINGLE || view.rows * view.cols > CELLS;
  place.depth = drawSheets(scene, id, place, stack);
  const keys = options.words === 'none' || place.block || w < scene.cellWidth || scene.narrow ? null : wordsAlong(scene.trace, view);
  place.tokens = keys || [];
  place.said = options.said;
  place.lift = keys && !(options.col && options.col.under) ? 14 : 0; // the axis stands above the words
  if (place.block) drawBlock(scene, id, view, place);
  else drawCells(scene, view, place, options);
  drawAxes(scene, id, view, place, options);
  if (options.name !== false) drawTitle(scene, id, view, place, options);
  return place;
}

function drawSheets(scene, id, { x, y, rows, cols, w, h }, stack) {
  const behind = [...stack].reverse().flatMap((axis) => range(Math.min(axis.size - 1, 2)).map(() => axis));
  for (const n of range(behind.length).reverse()) {
    scene.box(
      `${id}.sheet${n}`,
      x + 6 * (n + 1),
      y + 6 * (n + 1),
      cols * w,
      rows * h,
      'sheet',
      axisRole(scene.trace, behind[n].label),
    );
  }
  if (behind.length) scene.box(`${id}.front`, x, y, cols * w, rows * h, 'front');
  return 6 * behind.length;
}

/** A grid without numbers: its outline to scale, and its lines where they can be told apart. Of a side with too many
 * the first and the last few are drawn, larger than they are, and dots say that the rest is left out. */
function drawBlock(scene, id, view, { x, y, w, h, rows, cols }) {
  const [wide, high] = [cols * w, rows * h];
  scene.add('box', `${id}.block`, { x, y, w: wide, h: high, kind: 'block', role: null, of: view.tensor });
  const lines = (n, size, draw) =>
    linesOf(n, size)
      .map((at) => draw(at))
      .join('');
  const d = lines(cols, w, (at) => `M${x + at} ${y}v${high}`) + lines(rows, h, (at) => `M${x} ${y + at}h${wide}`);
  if (d) scene.path(`${id}.lines`, d, 'lines');
  const [left, over] = [isElided(cols, w), isElided(rows, h)];
  if (left && wide > 40) scene.text(`${id}.more`, x + wide / 2, y + high / 2 + 4, over ? '⋱' : '⋯', 'middle sign');
  else if (over && high > 40) scene.text(`${id}.more`, x + wide / 2, y + high / 2 + 4, '⋮', 'middle sign');
}

function drawCells(scene, view, { x, y, w, h }, options) {
  const { show = () => true, kind, fill, masked, pick, ghost, digits = view.tensor.digits } = options;
  const key = options.key || view.key;
  for (const i of range(view.rows)) {
    for (const j of range(view.cols)) {
      const value = show(i, j) ? view.value(i, j) : null;
      scene.cell(`${ghost ? 'ghost.' : ''}${key(i, j)}`, x + j * w, y + i * h, value, {
        w,
        h,
        digits,
        kind: `${(kind && kind(i, j)) || ''}${ghost ? ' ghost' : ''}`,
        fill: fill && fill(i, j),
        masked: masked ? masked(value) : isClosed(view.tensor, view.index(i, j)),
        ref: { tensor: view.tensor, index: view.index(i, j), pick: pick && pick(i, j) },
      });
    }
  }
}

/** The name of a grid and the sizes of its stack; it ends where the stage does. */
export function drawTitle(
  scene,
  id,
  view,
  { x, y, bottom, depth, tokens, lift, said },
  { name = shown(view.tensor), nameBelow = false, col = {}, kind = '', room = 400 },
) {
  const at = nameBelow
    ? bottom + (col.under ? 38 : 10) + depth + (depth ? 10 : 12) + (col.under && tokens.length ? 14 : 0)
    : y - (view.colDim === null || col.under ? 12 : scene.narrow ? 32 : 40) - lift;
  const notes = view.stack.map((axis) => dimSize(scene.trace, axis.label, axis.size));
  if (said) notes.unshift(said);
  const apart = col.sum && scene.narrow;
  const after = notes.flatMap((note) => [...say`\u2002`, ...note]);
  const most = clamp(Math.floor((room - plain(after).length * 6.5) / 8), 6, 18);
  const short = brief(name, most);
  const width = short.length * 8 + (apart ? 0 : plain(after).length * 6.5);
  scene.text(
    `${id}.name`,
    clamp(x, 2, Math.max(2, scene.width - width)),
    at,
    [{ text: short, kind: 'name' }, ...(apart ? [] : after)],
    `strong ${kind}`,
  );
  if (apart) scene.text(`${id}.stack`, x, at + 17, after.slice(1), 'strong');
}
