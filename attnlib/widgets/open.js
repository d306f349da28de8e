/* A tensor laid open: up to three axes at once. Heads inside a row stand side by side, other sheets one below the other. */

import { range } from './kit.js';
import { chosen, rank, roleOf, sheet, sheetAlong, shown } from './trace.js';

const BLOCKS = 4; // so many sheets of a 4-D tensor are laid open

/** Whether a tensor is drawn with three axes at once instead of with one sheet in front. */
export function isOpen(trace, tensor) {
  const n = rank(tensor);
  return (
    n > 3 && tensor.shape[roleOf(trace, tensor.dims[n - 2]) === 'heads' ? n - 2 : n - 3] <= BLOCKS
  );
}

/** The sheets of a tensor and where they stand: [{ view, x, y }], with the axis that runs over them. */
export function open(scene, tensor, at, w, h) {
  const n = rank(tensor),
    over = n - 3;
  if (!isOpen(scene.trace, tensor))
    return { sheets: [{ view: sheet(tensor, at), x: 0, y: 0 }], over: null };
  const lead = chosen(tensor, at, 3),
    base = [...lead, 0, 0, 0];
  const stack = lead
    .map((i, axis) => ({ label: tensor.dims[axis], size: tensor.shape[axis], at: i }))
    .filter((axis) => axis.size > 1);
  const inside = roleOf(scene.trace, tensor.dims[n - 2]) === 'heads',
    axis = inside ? n - 2 : over;
  const sheets = range(tensor.shape[axis]).map((i) => ({
    view: sheetAlong(
      tensor,
      base.map((v, a) => (a === axis ? i : v)),
      inside ? over : n - 2,
      n - 1,
      stack,
    ),
    x: inside ? i * (tensor.shape[n - 1] * w + (scene.narrow ? 10 : 22)) : 0,
    y: inside ? 0 : i * (tensor.shape[n - 2] * h + (scene.narrow ? 34 : 38)),
  }));
  return { sheets, over: axis, inside };
}

export function extent(scene, tensor, at, w, h) {
  const { sheets } = open(scene, tensor, at, w, h),
    last = sheets.at(-1);
  return { width: last.x + last.view.cols * w, height: last.y + last.view.rows * h };
}

export function drawOpen(scene, tensor, at, x, y, options) {
  const { w, h, id = tensor.storage, name = shown(tensor) } = options,
    { sheets, over, inside } = open(scene, tensor, at, w, h);
  const places = sheets.map(({ view, x: dx, y: dy }, n) =>
    scene.grid(view, x + dx, y + dy, {
      ...options,
      id: over === null ? id : `${id}.${n}`,
      name: false,
      words: over === null || (inside && n === 0),
      row: { bare: inside && n > 0 },
      lit: options.lit || {},
      kind: options.kind && ((i, j) => options.kind(view.index(i, j))),
      fill: options.fill && ((i, j) => options.fill(view.index(i, j))),
    }),
  );
  const [first, last] = [places[0], places.at(-1)];
  if (over !== null) {
    const size = tensor.shape[over],
      label = tensor.dims[over];
    if (inside)
      scene.axis(
        `${id}.axis.${label}`,
        label,
        x,
        y - (scene.narrow ? 36 : 44),
        size,
        (last.right - x) / size,
      );
    else
      scene.axis(
        `${id}.axis.${label}`,
        label,
        x - (scene.narrow ? 33 : 44),
        last.bottom,
        size,
        (last.bottom - y) / size,
        { upright: true, gap: 10 },
      );
  }
  const lift = (over !== null && inside ? 36 : 0) + (scene.narrow ? 32 : 40);
  scene.title(
    id,
    sheets[0].view,
    { ...first, y: y - lift + (scene.narrow ? 32 : 40), depth: first.depth },
    { name, kind: options.nameKind || '' },
  );
  return {
    right: last.right + last.depth,
    bottom: last.bottom + last.depth,
    x,
    y,
    w,
    h,
    lift,
    first,
  };
}

export const cellsOf = (scene, tensor, at, w, h) =>
  open(scene, tensor, at, w, h).sheets.flatMap(({ view }) =>
    range(view.rows).flatMap((i) => range(view.cols).map((j) => view.index(i, j))),
  );
