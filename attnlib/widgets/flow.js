/* Operands, signs and results side by side, on a new line where the room ends. */

import { drawGrid } from './grid.js';
import { unit } from './scene.js';
import { sheet } from './tensor.js';

/** Draw sheets and signs from left to right, on a new line where the room ends. Items: { view, … } or { sign }. */
export function flow(scene, items, top = scene.top + 20) {
  const views = items.filter((item) => item.view).map((item) => item.view);
  const { w, h } = scene.fit(
    Math.max(...views.map((view) => view.cols)),
    Math.max(...views.map((view) => view.rows)),
    scene.width - scene.left - 30,
    300,
    views.map((view) => view.tensor),
  );
  const apart = scene.narrow ? 76 : 110;
  let x = scene.left;
  let y = top;
  let deep = top;
  let sign = null;
  const places = [];
  items.forEach((item) => {
    if (!item.view) {
      sign = item.sign;
      return;
    }
    const first = x === scene.left;
    if (!first && x + item.view.cols * w > scene.width - 10) {
      [x, y] = [scene.left, deep + (scene.narrow ? 66 : 84)];
    }
    if (sign) {
      drawSign(
        scene,
        places.length,
        sign,
        x === scene.left ? [4, y - 32] : [x - (scene.narrow ? 50 : 66), y + (item.view.rows * h) / 2 + 6],
      );
    }
    sign = null;
    const place = drawGrid(scene, item.view, x, y, {
      w: unit(w, item.view.cols),
      h: unit(h, item.view.rows),
      words: items.length === 1 && scene.narrow ? 'right' : first,
      room: item.view.cols * w + apart - 30,
      ...item,
    });
    places.push(place);
    [x, deep] = [place.right + place.depth + apart - place.depth, Math.max(deep, place.bottom + place.depth)];
  });
  return Object.assign(places, { bottom: deep });
}

/** A sign between two grids, its number under it. */
function drawSign(scene, n, sign, [x, y]) {
  const [first, second] = Array.isArray(sign[0]) ? sign : [sign, null];
  scene.text(`sign${n}`, x, y, first, x === 4 ? 'sign' : 'sign middle');
  if (second) scene.text(`sign${n}.number`, x, y + 20, second, x === 4 ? '' : 'middle');
}

export const front = (scene, tensor, options = {}) => ({
  view: sheet(tensor, scene.at),
  ...options,
});
export const hidden = { show: () => false };
export const joined = (scene, tensors, sign) =>
  tensors.flatMap((tensor, n) => [...(n && sign ? [{ sign }] : []), front(scene, tensor)]);
