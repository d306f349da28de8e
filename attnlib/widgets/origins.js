/* Where the numbers of a view or a copy come from: the address each was read at, and the head it belongs to. */

import { SHARES, address, chosen, indices, rank, ravel, roleOf, unravel } from './tensor.js';

/** The index in the input that each index of the output was read from; null where the row does not say. */
const SOURCES = {
  transpose:
    ({ params }) =>
    (index) =>
      swap(index, params.dim0, params.dim1),
  permute:
    ({ params }) =>
    (index) =>
      index.map((_, axis) => index[params.dims.indexOf(axis)]),
  contiguous: () => (index) => index,
  clone: () => (index) => index,
  split_heads:
    ({ inputs: [x], outputs: [out] }) =>
    (index) => {
      const [h, s, d] = index.slice(-3);
      return [...index.slice(0, -3), s, h * out.shape.at(-1) + d].slice(-rank(x));
    },
  merge_heads:
    ({ inputs: [x] }) =>
    (index) => {
      const [s, e] = index.slice(-2);
      const H = x.shape.at(-1);
      return [...index.slice(0, -2), Math.floor(e / H), s, e % H];
    },
};
for (const op of ['view', 'reshape', 'flatten', 'unflatten', 'squeeze', 'unsqueeze']) {
  SOURCES[op] =
    ({ inputs: [x], outputs: [out] }) =>
    (index) =>
      unravel(ravel(index, out.shape), x.shape);
}

function swap(index, a, b) {
  const other = [...index];
  [other[a], other[b]] = [index[b], index[a]];
  return other;
}

/** For every output of the row: index -> address in the input's memory it came from, or null. */
export function originOf(step, output) {
  const [input] = step.inputs;
  if (SHARES.includes(step.kind)) return (index) => address(output, index);
  const source = SOURCES[step.op] && SOURCES[step.op](step);
  return source ? (index) => address(input, source(index)) : null;
}

export const movesNothing = (step) =>
  step.inputs.length > 0 &&
  step.outputs.length > 0 &&
  (SHARES.includes(step.kind) ? step.kind !== 'in-place' : Boolean(SOURCES[step.op])) &&
  step.op !== 'dropout';

// ---------- heads: which head a number belongs to, told by the tensor that has the axis

export function headsOf(step, trace, at) {
  const owner = [...step.outputs, ...step.inputs].find(
    (tensor) =>
      tensor.values && rank(tensor) > 2 && tensor.dims.some((label) => roleOf(trace, label) === 'heads'),
  );
  if (!owner) return null;
  const axis = owner.dims.findIndex((label) => roleOf(trace, label) === 'heads');
  const heads = owner.shape[axis];
  const origin = step.outputs.includes(owner) ? originOf(step, owner) : (index) => address(owner, index);
  if (!origin || heads < 2 || heads > 8) return null;
  const found = new Map();
  const lead = chosen(owner, at, 3);
  for (const index of indices(owner.shape.slice(-3))) {
    found.set(origin([...lead, ...index]), [...lead, ...index][axis]);
  }
  return { of: found, fill: (place) => headTint(found.get(place), heads) };
}
const headTint = (head, heads) =>
  head === undefined
    ? undefined
    : `color-mix(in oklab, var(--heads-fill) ${Math.round(9 + (36 * head) / (heads - 1))}%, var(--paper))`;
