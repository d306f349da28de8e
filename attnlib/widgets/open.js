/* A tensor laid open: up to three axes at once. Heads inside a row stand side by side, other sheets one below the other. */

import { drawGrid, drawTitle } from './grid.js';
import { range } from './kit.js';
import { chosen, rank, roleOf, sheet, sheetAlong, shown } from './tensor.js';

const BLOCKS = 4; // so many sheets of a 4-D tensor are laid open

/** Whether a tensor is drawn with three axes at once instead of with one sheet in front. */
export function isOpen(trace, tensor) {
  const n = rank(tensor);
  return n > 3 && tensor.shape[roleOf(trace, tensor.dims[n - 2]) === 'heads' ? n - 2 : n - 3] <= BLOCKS;
}

/** The sheets of a tensor and where they stand: [{ view, x, y }], with the axis that runs over them. */
export function open(scene, tensor, at, w, h) {
  const n = rank(tensor);
  const over = n - 3;
  if (!isOpen(scene.trace, tensor)) {
    return { sheets: [{ view: sheet(tensor, at), x: 0, y: 0 }], over: null };
  }
  const lead = chosen(tensor, at, 3);
  const base = [...lead, 0, 0, 0];
  const stack = lead
    .map((i, axis) => ({ label: tensor.dims[axis], size: tensor.shape[axis], at: i }))
    .filter((axis) => axis.size > 1);
  const inside = roleOf(scene.trace, tensor.dims[n - 2]) === 'heads';
  const axis = inside ? n - 2 : over;
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
  const { sheets } = open(scene, tensor, at, w, h);
  const last = sheets.at(-1);
  return { width: last.x + last.view.cols * w, height: last.y + last.view.rows * h };
}

export function drawOpen(scene, tensor, at, x, y, options) {
  const { w, h, id = tensor.storage } = options;
  const { sheets, over, inside } = open(scene, tensor, at, w, h);
  const byIndex = (view, read) => read && ((i, j) => read(view.index(i, j)));
  const places = sheets.map(({ view, x: dx, y: dy }, n) =>
    drawGrid(scene, view, x + dx, y + dy, {
      ...options,
      plain: true,
      id: over === null ? id : `${id}.${n}`,
      name: false,
      words: over === null || (inside && n === 0),
      row: { bare: inside && n > 0 },
      key: byIndex(view, options.key),
      kind: byIndex(view, options.kind),
      fill: byIndex(view, options.fill),
    }),
  );
  const first = places[0];
  if (over !== null) drawOver(scene, id, tensor, over, inside, first, places.at(-1));
  drawTitle(scene, 
    id,
    sheets[0].view,
    { ...first, y: over !== null && inside ? y - 36 : y },
    { name: shown(tensor) },
  );
  return first;
}

/** The axis that runs over the sheets: above them where they stand side by side, else to their left. */
function drawOver(scene, id, tensor, axis, inside, first, last) {
  const [label, size] = [tensor.dims[axis], tensor.shape[axis]];
  const key = `${id}.axis.${label}`;
  if (inside) {
    scene.axis(key, label, first.x, first.y - (scene.narrow ? 36 : 44), size, (last.right - first.x) / size);
    return;
  }
  const step = (last.bottom - first.y) / size;
  scene.axis(key, label, first.x - (scene.narrow ? 33 : 44), last.bottom, size, step, {
    upright: true,
    gap: 10,
  });
}

/** Every index that is drawn, in the order it is drawn in. */
export const cellsOf = (scene, tensor, at) =>
  open(scene, tensor, at, 1, 1).sheets.flatMap(({ view }) =>
    range(view.rows).flatMap((i) => range(view.cols).map((j) => view.index(i, j))),
  );
