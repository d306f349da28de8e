/* Small matrices as lists of rows, and as tensors that a figure draws. The sums are those of PyTorch, in float64. */

import { decimals, range } from '../kit.js';

/** A matrix as a tensor of a trace: dims names the rows and the columns. */
export function matrix(name, rows, dims) {
  const [values, shape] = [rows.flat(), [rows.length, rows[0].length]];
  const own = { strides: [shape[1], 1], offset: 0, digits: decimals(values), weights: false };
  return { name, storage: name, shape, dims, values, ...own };
}

export const transpose = (rows) => rows[0].map((_, j) => rows.map((row) => row[j]));
export const dot = (a, b) => a.reduce((sum, value, d) => sum + value * b[d], 0);
/** x @ weight.T */
export const project = (x, weight) => x.map((row) => weight.map((other) => dot(row, other)));
export const matmul = (a, b) => project(a, transpose(b));
/** The same numbers, in the order of memory, at another shape. */
export const reshape = (rows, n) => {
  const all = rows.flat();
  return range(all.length / n).map((i) => all.slice(i * n, (i + 1) * n));
};
