/* A scene: a list of marks with stable keys, made from trace and state alone. The same key is the same thing, so one
   patch turns any scene into any other. What the marks mean: an axis is one segment an index in the colour of its
   dimension; a sheet behind a grid is another index of a leading axis; a frame in ink is what is read now; a hatched
   cell is masked; arcs join the indices that are multiplied and summed away. */

import { number, say } from './kit.js';
import { axisRole, brief, dimSize } from './tensor.js';

const DIGITS = 26; // a narrower cell shows its colour only
const DIGIT = 0.556; // how wide one is, in sizes of its font; a point is half as wide
const SIDE = 2.5; // between a number and the side of its cell, on which a frame may lie
const BARE = 18; // the side of a cell that has no number to show
const THIN = 14; // the least a side of a block is drawn with

/** The unit of an axis: never so small that the whole axis vanishes. */
export const unit = (size, n) => Math.max(size, THIN / Math.max(1, n));

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
    [this.cellWidth, this.cellHeight] = this.narrow ? [33, 28] : [44, 34];
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

  /** How deep the marks reach, near enough. */
  get height() {
    const ends = ({ type, y = 0, h = 0, under, upright }) => y + h + (type === 'axis' && under && !upright ? 34 : 10);
    return Math.ceil(Math.max(0, ...this.marks.map(ends)));
  }

  /** The words of the tokens in a line under the figure, where they found no room in it. */
  sayTokens() {
    if (!this.unsaid) return;
    const { tokens, label } = this.unsaid;
    const low = Math.max(...this.marks.map((mark) => (mark.y || 0) + (mark.h || 0)));
    const words = `${label}: ${tokens.map((word, n) => `${n} ${word}`).join(' · ')}`;
    this.text('tokens', 2, low + 34, brief(words, Math.floor(this.width / 6.4)));
  }

  cell(
    key,
    x,
    y,
    value,
    { w = this.cellWidth, h = this.cellHeight, digits = 2, kind = '', fill, masked, ref } = {},
  ) {
    const own = cellKind(value, masked);
    const short =
      w < 28 || (typeof value === 'number' && Math.abs(value) >= 100) ? Math.min(digits, 1) : digits;
    const text = w >= DIGITS && h >= 14 ? number(value, own === 'masked' && value === 0 ? 0 : short) : '';
    const size = w >= 40 ? 12.5 : w >= 30 ? 11 : 10;
    this.add('cell', key, {
      x,
      y,
      w,
      h,
      size: Math.min(size, (w - 2 * SIDE) / ((text.length - text.includes('.') / 2) * DIGIT)),
      text,
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
}
