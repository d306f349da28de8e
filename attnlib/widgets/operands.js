/* What a product row multiplies: its operands, the sheets of them that are in front, the terms of one number. */

import { range } from './kit.js';
import { rank, sheet, shown } from './tensor.js';

const TURNED = ['linear', 'project', 'attention_scores']; // the right operand is drawn turned
const MATMUL = ['matmul', 'bmm', 'mm', 'weighted_sum'];

/** The operands of a product row, or null where it cannot be drawn as a cross. */
export function productOf(step) {
  const turned = TURNED.includes(step.op);
  if (!turned && !MATMUL.includes(step.op)) return null;
  const [left, right, bias = null] = step.inputs;
  const [result = null] = step.outputs;
  if (!left || !right || rank(left) < (turned ? 1 : 2) || rank(right) < 2) return null;
  if (!result && step.kind !== 'error') return null;
  const inner = [left.shape.at(-1), right.shape.at(turned ? -1 : -2)];
  return {
    left,
    right,
    bias,
    result,
    turned,
    inner,
    mixes: step.op === 'weighted_sum' || left.weights,
    dims: [left.dims.at(-1), right.dims.at(turned ? -1 : -2)],
    maps: step.op === 'linear' || step.op === 'project',
  };
}

/** The three sheets in front. */
export function sheetsOf({ left, right, result, turned }, at) {
  const views = { a: sheet(left, at), b: sheet(right, at, turned) };
  views.c = result && sheet(result, at);
  return views;
}

/** The terms of one number of the result: [left, right] pairs, or null where the values were not recorded. */
export function terms(product, at, i, j) {
  const { a, b } = sheetsOf(product, at);
  if (!product.left.values || !product.right.values || product.inner[0] !== product.inner[1]) {
    return null;
  }
  return range(product.inner[0]).map((d) => [a.value(i, d), b.value(d, j)]);
}

export const bLabel = (product) => (product.turned ? `${shown(product.right)}ᵀ` : shown(product.right));
