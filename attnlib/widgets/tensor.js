/* A tensor of a trace and its axes: where a number lies, what an axis is called and coloured, the sheets it is drawn as.
   A view has the storage of its base, so numbers of equal key are the same numbers. Everything here is pure. */

import { clamp, code, dim, range } from './kit.js';

export const SHARES = ['view', 'same', 'in-place']; // the kinds of row whose result lies in the memory of its input

export const rank = (tensor) => tensor.shape.length;
export const count = (tensor) => tensor.shape.reduce((n, size) => n * size, 1);
export const address = (tensor, index) =>
  index.reduce((sum, i, axis) => sum + i * tensor.strides[axis], tensor.offset);

export function valueAt(tensor, index) {
  return tensor.values
    ? tensor.values[ravel(index, tensor.shape)]
    : null;
}

/** Whether a weight is 0 because its key was masked; undefined where it was not. */
export const isClosed = (tensor, index) =>
  (tensor.closed && valueAt({ ...tensor, values: tensor.closed }, index)) || undefined;

/** Where an index stands among all of a block of axes, and the index that stands at a place. */
export const ravel = (index, sizes) => index.reduce((sum, i, axis) => sum * sizes[axis] + i, 0);
export const unravel = (n, sizes) =>
  sizes.reduceRight(([index, rest], size) => [[rest % size, ...index], Math.floor(rest / size)], [[], n])[0];

/** Every index of a block of axes, last axis fastest. */
export const indices = (sizes) =>
  sizes.reduce((all, size) => all.flatMap((index) => range(size).map((i) => [...index, i])), [[]]);

/** The name a reader knows a tensor by: "k transposed" is kᵀ. */
export const shown = (tensor) => brief(tensor.name.replace(/^(.+) transposed$/, '$1ᵀ'), 40);
/** That name as it is said. */
export const named = (tensor) => code(shown(tensor));
/** A name short enough to stand in a figure: the line above it has the whole. */
export const brief = (name, most = 18) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

// ---------- dimensions

export const roleOf = (trace, name) => (Object.hasOwn(trace.roles, name) ? trace.roles[name] : null);

/** "heads*H" as coloured factors. */
export function dimName(trace, label) {
  return String(label)
    .split('*')
    .flatMap((name, n) => [...(n ? [{ text: '*', kind: '' }] : []), dim(name, roleOf(trace, name))]);
}

/** Whether a sheet sets queries against keys: S in both directions. */
export const isPair = (trace, { rowDim, colDim }) =>
  rowDim !== null && [rowDim, colDim].every((label) => roleOf(trace, label) === 'S');

/** The role that colours an axis: its own, or that of the first factor which has one. */
export const axisRole = (trace, label) =>
  String(label)
    .split('*')
    .map((name) => roleOf(trace, name))
    .find(Boolean) || null;

/** "S = 3", or "7" alone where the axis has no name. */
export function dimSize(trace, label, size) {
  return String(label) === String(size)
    ? dimName(trace, label)
    : [...dimName(trace, label), dim(` = ${size}`, axisRole(trace, label))];
}

const inBrackets = (items) =>
  ['(', ...items.flatMap((item, n) => [n ? ', ' : '', item]), ')']
    .flat(Infinity)
    .map((part) => (typeof part === 'string' ? { text: part, kind: '' } : part));
export const namedShape = (trace, tensor) => inBrackets(tensor.dims.map((label) => dimName(trace, label)));
export const sizedShape = (tensor) => `(${tensor.shape.join(', ')})`;
export const namedStrides = (trace, tensor) =>
  inBrackets(tensor.strides.map((stride, n) => dim(stride, axisRole(trace, tensor.dims[n]))));

// ---------- sheets: the last two axes of a tensor, with every axis before them set to the chosen index

/** @typedef {{ tensor: Tensor, rows: number, cols: number, rowDim: string | null, colDim: string | null,
 *              index: (i: number, j: number) => number[], value: (i: number, j: number) => number | boolean | null,
 *              key: (i: number, j: number) => string, stack: { label: string, size: number, at: number }[] }} Sheet */

/** The chosen index along the axes before the last `kept`; an axis of size 1 broadcasts. */
export const chosen = (tensor, at, kept = 2) =>
  tensor.shape
    .slice(0, Math.max(0, rank(tensor) - kept))
    .map((size, axis) => clamp(at[tensor.dims[axis]] || 0, 0, Math.max(0, size - 1)));

/** A sheet along any two axes of a tensor; an axis of null is a single row or column.
 * @returns {Sheet} */
export function sheetAlong(tensor, base, rowAxis, colAxis, stack = []) {
  const index = (i, j) => base.map((at, axis) => (axis === rowAxis ? i : axis === colAxis ? j : at));
  const side = (axis) => (axis === null ? [1, null] : [tensor.shape[axis], tensor.dims[axis]]);
  const [rows, rowDim] = side(rowAxis);
  const [cols, colDim] = side(colAxis);
  return {
    tensor,
    index,
    rows,
    cols,
    rowDim,
    colDim,
    stack,
    value: (i, j) => valueAt(tensor, index(i, j)),
    key: (i, j) => `${tensor.storage}@${address(tensor, index(i, j))}`,
  };
}

/** The last two axes, with every axis before them at its chosen index; turned: columns first.
 * @returns {Sheet} */
export function sheet(tensor, at, turned = false) {
  const n = rank(tensor);
  const lead = chosen(tensor, at);
  const [row, col] = [n > 1 ? n - 2 : null, n > 0 ? n - 1 : null];
  const stack = lead
    .map((i, axis) => ({ label: tensor.dims[axis], size: tensor.shape[axis], at: i }))
    .filter((axis) => axis.size > 1);
  const base = [...lead, 0, 0].slice(0, n);
  return turned ? sheetAlong(tensor, base, col, row, stack) : sheetAlong(tensor, base, row, col, stack);
}

/** The words of a sheet's rows, where its rows are the tokens. */
export function wordsOf(trace, { rows, rowDim, stack }) {
  if (!trace.words || rowDim === null || roleOf(trace, rowDim) !== 'S') return null;
  const sequence = stack.find((axis) => roleOf(trace, axis.label) === 'batch');
  const apart = sequence && trace.words.length === sequence.size * rows;
  const words = apart ? trace.words.slice(sequence.at * rows, (sequence.at + 1) * rows) : trace.words;
  return words.length === rows ? words : null;
}

/** The words of a sheet's columns, where its columns are the tokens. */
export const wordsAlong = (trace, view) => wordsOf(trace, { ...view, rows: view.cols, rowDim: view.colDim });

/** The axes a reader may choose along: those before the last `kept`, of every tensor of the step. */
export function choices(step, kept = 2) {
  const found = new Map();
  for (const tensor of [...step.outputs, ...step.inputs]) {
    tensor.shape.slice(0, -Math.min(kept, Math.max(2, rank(tensor) - 1))).forEach((size, axis) => {
      const label = tensor.dims[axis];
      if (size > 1 && size > (found.get(label) || 0)) found.set(label, size);
    });
  }
  return [...found].map(([label, size]) => ({ label, size }));
}
