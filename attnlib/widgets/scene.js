/* A scene: a list of marks with stable keys, made from trace and state alone. The same key is the same thing, so one
   patch turns any scene into any other. What the marks mean: an axis is one segment an index in the colour of its
   dimension; a sheet behind a grid is another index of a leading axis; a frame in ink is what is read now; a hatched
   cell is masked; arcs join the indices that are multiplied and summed away. */

import { clamp, dim, number, plain, range, say } from './kit.js';
import { axisRole, brief, dimSize, isClosed, isPair, shown, wordsAlong, wordsOf } from './trace.js';

const DIGITS = 26; // a narrower cell shows its colour only
const SINGLE = 5; // a smaller one is not drawn by itself: the grid becomes a block, to scale
const CELLS = 1024;
const BARE = 18; // the side of a cell that has no number to show
const THIN = 14; // the least a side of a block is drawn with

/** The unit of an axis: never so small that the whole axis vanishes. */
export const unit = (size, n) => Math.max(size, THIN / Math.max(1, n));

/** Whether so many lines cannot be told apart at this size. */
const isElided = (n, size) => size < SINGLE || n > 200;

/** Where the lines of a side are drawn: every one, or the first three and the last three. */
function linesOf(n, size) {
  if (!isElided(n, size)) return range(n - 1).map((i) => (i + 1) * size);
  const few = range(n * size > 8 * SINGLE ? 3 : 0).map((i) => (i + 1) * SINGLE);
  return [...few, ...few.map((at) => n * size - at)];
}

/** Colour of a value on the one diverging scale of the trace. */
export function tint(value, full) {
  const share = Math.round(100 * Math.min(1, Math.abs(value) / full));
  return `color-mix(in oklab, var(--v-${value < 0 ? 'neg' : 'pos'}) ${share}%, var(--v-zero))`;
}

/** How a cell is told apart without colour. */
export function cellKind(value, masked = value === -Infinity || value === false) {
  if (value === null) return 'empty';
  if (Number.isNaN(value)) return 'nan';
  if (value === Infinity) return 'inf';
  return masked ? 'masked' : '';
}

export class Scene {
  /** @param {import('./trace.js').Trace} trace */
  constructor(trace, at, width) {
    Object.assign(this, { trace, at, width, marks: [], keys: new Set() });
    this.narrow = width < 480;
    this.wide = width >= 780;
    [this.cellWidth, this.cellHeight] = this.narrow ? [31, 28] : [44, 34];
    [this.left, this.top, this.gap, this.rise] = this.narrow ? [28, 46, 23, 46] : [92, 62, 46, 48];
    this.line = this.narrow ? 26 : 30;
    this.unsaid = null; // words of tokens for which a phone has no room beside the grid
  }

  add(type, key, mark) {
    let unique = key;
    while (this.keys.has(unique)) unique += '′';
    this.keys.add(unique);
    this.marks.push({ type, key: unique, ...mark });
  }

  text(key, x, y, parts, kind = '') {
    this.add('text', key, { x, y, parts: typeof parts === 'string' ? say`${parts}` : parts, kind });
  }
  path(key, d, kind, role = null) {
    this.add('path', key, { d, kind, role });
  }
  box(key, x, y, w, h, kind, role = null) {
    this.add('box', key, { x, y, w, h, kind, role });
  }
  band(key, grid, { i, j }) {
    const [row, col] = [i === undefined ? 0 : i, j === undefined ? 0 : j];
    this.box(
      key,
      grid.x - 1 + col * grid.w,
      grid.y - 1 + row * grid.h,
      (j === undefined ? grid.cols : 1) * grid.w + 2,
      (i === undefined ? grid.rows : 1) * grid.h + 2,
      'band',
    );
  }

  cell(
    key,
    x,
    y,
    value,
    { w = this.cellWidth, h = this.cellHeight, digits = 2, kind = '', fill, masked, ref } = {},
  ) {
    const own = cellKind(value, masked);
    const size = w >= 40 ? 12.5 : w >= 30 ? 11 : 10;
    const short =
      w < 28 || (typeof value === 'number' && Math.abs(value) >= 100) ? Math.min(digits, 1) : digits;
    this.add('cell', key, {
      x,
      y,
      w,
      h,
      size,
      text: w >= DIGITS && h >= 14 ? number(value, own === 'masked' && value === 0 ? 0 : short) : '',
      kind: `${own} ${kind}`.trim(),
      ref,
      fill:
        fill ||
        (typeof value === 'number' && Number.isFinite(value)
          ? tint(value, this.trace.full)
          : 'var(--v-zero)'),
    });
  }

  /** One segment an index; rot -90 reads from bottom to top, so segment 0 of a column stands at its lower end. */
  axis(
    key,
    label,
    x,
    y,
    n,
    step,
    { upright = false, under = false, sum = false, on, parts, away = 0, whole = false, gap = 0 } = {},
  ) {
    this.add('axis', key, {
      x,
      y,
      n: whole ? 1 : n,
      step: whole ? n * step : step,
      upright,
      under,
      sum,
      on: whole ? undefined : on,
      away,
      gap,
      parts: parts === undefined ? dimSize(this.trace, label, n) : parts,
      role: axisRole(this.trace, label),
    });
  }

  /** The cell size at which `cols` and `rows` fit; below a legible size, and where there are no numbers to write,
   * one small unit both ways, so that shapes are drawn to scale. */
  fit(cols, rows, width, height, tensors) {
    const written = tensors.every((tensor) => tensor.values);
    const [w, h] = [
      Math.min(written ? this.cellWidth : BARE, width / Math.max(1, cols)),
      Math.min(written ? this.cellHeight : BARE, height / Math.max(1, rows)),
    ];
    if (written && w >= 12 && h >= 12) return { w, h: Math.min(h, w * 1.1) };
    return { w: Math.min(w, h), h: Math.min(w, h) };
  }

  /** A sheet as a labelled grid. Returns where it stands. */
  grid(view, x, y, options = {}) {
    const { w = this.cellWidth, h = this.cellHeight, id = view.tensor.storage, stack = view.stack } = options;
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
    place.depth = this.sheets(id, place, stack);
    const keys = options.words === 'none' || place.block || w < this.cellWidth || this.narrow ? null : wordsAlong(this.trace, view);
    place.tokens = keys || [];
    place.lift = keys && !(options.col && options.col.under) ? 14 : 0; // the axis stands above the words
    if (place.block) this.block(id, view, place);
    else this.cells(view, place, options);
    this.axes(id, view, place, options);
    if (options.name !== false) this.title(id, view, place, options);
    return place;
  }

  sheets(id, { x, y, rows, cols, w, h }, stack) {
    const behind = [...stack].reverse().flatMap((axis) => range(Math.min(axis.size - 1, 2)).map(() => axis));
    for (const n of range(behind.length).reverse()) {
      this.box(
        `${id}.sheet${n}`,
        x + 6 * (n + 1),
        y + 6 * (n + 1),
        cols * w,
        rows * h,
        'sheet',
        axisRole(this.trace, behind[n].label),
      );
    }
    if (behind.length) this.box(`${id}.front`, x, y, cols * w, rows * h, 'front');
    return 6 * behind.length;
  }

  /** A grid without numbers: its outline to scale, and its lines where they can be told apart. Of a side with too many
   * the first and the last few are drawn, larger than they are, and dots say that the rest is left out. */
  block(id, view, { x, y, w, h, rows, cols }) {
    const [wide, high] = [cols * w, rows * h];
    this.add('box', `${id}.block`, { x, y, w: wide, h: high, kind: 'block', role: null, of: view.tensor });
    const lines = (n, size, draw) =>
      linesOf(n, size)
        .map((at) => draw(at))
        .join('');
    const d = lines(cols, w, (at) => `M${x + at} ${y}v${high}`) + lines(rows, h, (at) => `M${x} ${y + at}h${wide}`);
    if (d) this.path(`${id}.lines`, d, 'lines');
    const [left, over] = [isElided(cols, w), isElided(rows, h)];
    if (left && wide > 40) this.text(`${id}.more`, x + wide / 2, y + high / 2 + 4, over ? '⋱' : '⋯', 'middle sign');
    else if (over && high > 40) this.text(`${id}.more`, x + wide / 2, y + high / 2 + 4, '⋮', 'middle sign');
  }

  cells(view, { x, y, w, h }, options) {
    const { show = () => true, kind, fill, masked, pick, ghost, digits = view.tensor.digits } = options;
    const key = options.key || view.key;
    for (const i of range(view.rows)) {
      for (const j of range(view.cols)) {
        const value = show(i, j) ? view.value(i, j) : null;
        this.cell(`${ghost ? 'ghost.' : ''}${key(i, j)}`, x + j * w, y + i * h, value, {
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

  axes(id, view, place, options) {
    const pair = isPair(this.trace, view) && !options.plain;
    const { row = {}, col = {} } = options;
    const rows = { ...options, row: { word: pair && 'queries', ...row } };
    if (view.rowDim !== null) this.rowAxis(id, view, place, rows);
    const cols = { ...options, col: { word: pair && 'keys', ...col } };
    if (view.colDim !== null) this.colAxis(id, view, place, cols);
  }

  /** "S = 3 queries": where S meets S, each axis says which of the two it is. */
  axisWords(label, size, word) {
    const extra = word ? [dim(` ${word}`, axisRole(this.trace, label))] : [];
    return [...dimSize(this.trace, label, size), ...extra];
  }

  rowAxis(id, view, { x, y, h, rows, right, bottom, block, depth }, { row = {}, words = true, lit = {} }) {
    const says = this.axisWords(view.rowDim, rows, row.word);
    const silent = row.sum || row.bare;
    const short = rows * h < 40 && !silent;
    const spoken = words && !this.narrow && !block && !row.right && !row.sum && h > 13;
    const tokens = (spoken && wordsOf(this.trace, view)) || [];
    if (this.narrow && !block && words !== 'none') this.aside(id, view, { right, y, h, depth, words });
    this.axis(
      `${id}.axis.${view.rowDim}`,
      view.rowDim,
      row.right ? right + 9 + depth : x - 9,
      bottom,
      rows,
      h,
      {
        upright: true,
        under: row.right,
        sum: row.sum,
        on: lit.i,
        whole: block || h < 8,
        parts: silent || short ? [] : says,
        away: tokens.length ? 56 : 0,
      },
    );
    if (row.sum) this.text(`${id}.rows`, x - 14, y - 5, says, 'end strong');
    if (short) {
      const [at, side] = row.right ? [right + 18 + depth, ''] : [x - 16 - (tokens.length ? 56 : 0), 'end '];
      this.text(`${id}.rows`, at, y + (rows * h) / 2 + 4, says, `${side}strong`);
    }
    tokens.forEach((word, i) => {
      this.text(`${id}.word${i}`, x - 16, y + (i + 0.5) * h + 4, word, lit.i === i ? 'end ink' : 'end');
    });
  }

  /** On a phone the words stand to the right of a grid that is alone, else in a line of their own under the figure. */
  aside(id, view, { right, y, h, depth, words }) {
    const tokens = wordsOf(this.trace, view);
    if (!tokens) return;
    if (words !== 'right') this.unsaid = { tokens, label: view.rowDim };
    else tokens.forEach((word, i) => this.text(`${id}.word${i}`, right + depth + 8, y + (i + 0.5) * h + 4, word));
  }

  colAxis(id, view, { x, y, w, cols, bottom, block, depth, tokens, lift }, { col = {}, lit = {} }) {
    const says = this.axisWords(view.colDim, cols, col.word);
    const away = lift ? -lift : tokens.length ? 14 : 0;
    tokens.forEach((word, j) => {
      const kind = lit.j === j ? 'middle small ink' : 'middle small';
      const at = lift ? y - 6 : bottom + depth + 14;
      this.text(`${id}.key${j}`, x + (j + 0.5) * w, at, brief(word, 8), kind);
    });
    this.axis(`${id}.axis.${view.colDim}`, view.colDim, x, (col.under ? bottom + 9 + depth : y - 9) + away, cols, w, {
      under: col.under,
      sum: col.sum,
      on: lit.j,
      whole: block || w < 8,
      parts: col.sum ? [] : says,
    });
    if (!col.sum) return;
    const at = this.narrow ? [Math.max(x + (cols * w) / 2, 36), y - 16] : [x - 14, y - 5 - lift];
    this.text(`${id}.cols`, ...at, says, this.narrow ? 'middle strong' : 'end strong');
  }

  title(
    id,
    view,
    { x, y, bottom, depth, tokens, lift },
    { name = shown(view.tensor), nameBelow = false, col = {}, kind = '', room = 400 },
  ) {
    const at = nameBelow
      ? bottom + (col.under ? 38 : 10) + depth + (depth ? 10 : 12) + (col.under && tokens.length ? 14 : 0)
      : y - (view.colDim === null || col.under ? 12 : this.narrow ? 32 : 40) - lift;
    const notes = view.stack.map((axis) => dimSize(this.trace, axis.label, axis.size));
    const apart = col.sum && this.narrow;
    const after = notes.flatMap((note) => [...say`\u2002`, ...note]);
    const most = clamp(Math.floor((room - plain(after).length * 6.5) / 8), 6, 18);
    this.text(
      `${id}.name`,
      x,
      at,
      [{ text: brief(name, most), kind: 'name' }, ...(apart ? [] : after)],
      `strong ${kind}`,
    );
    if (apart) this.text(`${id}.stack`, x, at + 17, after.slice(1), 'strong');
  }

  /** One line of arithmetic under another; a row is { label, values, ruled, kind, on, masked }. */
  ledger(id, x, y, w, label, rows, lit, word) {
    const n = rows[0].values.length;
    this.axis(`${id}.axis`, label, x, y - 8, n, w, { on: lit, sum: true, parts: this.axisWords(label, n, word) });
    rows.forEach((row, r) => {
      const top = y + r * this.line + (row.ruled ? 6 : 0);
      this.text(`${id}.label${r}`, x - 10, top + this.line / 2 + 4, row.label, `end ${row.kind || ''}`);
      if (row.ruled) this.path(`${id}.rule${r}`, `M${x} ${top - 3}h${n * w}`, 'rule');
      row.values.forEach((value, d) =>
        this.cell(`${id}.${r}.${d}`, x + d * w, top, value, {
          w,
          h: this.line,
          digits: row.digits ?? 2,
          masked: (row.masked && row.masked(d)) || undefined,
          kind: `${lit === d ? 'on' : ''} ${row.on && row.on(d) ? 'on' : ''}`,
        }),
      );
    });
    return y + rows.length * this.line + 6;
  }
}
