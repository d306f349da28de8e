/* The arcs of a cross: index d of the left operand's contracted dim meets index d of the right's. Where the sizes differ,
   each half keeps the colour of its own dimension, and what has no partner is crossed out. */

import { range } from './kit.js';
import { axisRole } from './tensor.js';

export function drawArcs(scene, product, a, b, d) {
  const [m, n] = product.inner;
  const fits = m === n;
  const roles = product.dims.map((label) => axisRole(scene.trace, label));
  const clear = 14;
  const over = (scene.narrow ? 28 : clear) + a.lift; // above the size of the left operand
  const coarse = a.block || b.block || Math.max(m, n) > 12;
  const spots = coarse ? [0.5 / 3, 0.5, 2.5 / 3] : null;
  range(coarse ? 3 : Math.max(m, n)).forEach((k) => {
    const x1 = a.x + (coarse ? spots[k] * m : k + 0.5) * a.w;
    const y1 = a.y - over;
    const x2 = b.x - clear;
    const y2 = b.y + (coarse ? spots[k] * n : k + 0.5) * b.h;
    const rx = x2 - x1;
    const ry = y1 - y2;
    const on = (t) => [x2 - rx * Math.cos(t), y1 - ry * Math.sin(t)].map((v) => v.toFixed(1)).join(' ');
    if (fits) {
      scene.path(
        `arc.${product.dims[0]}.${k}`,
        `M${x1} ${y1}A${rx} ${ry} 0 0 1 ${x2} ${y2}`,
        `arc ${d === undefined ? '' : d === k ? 'on' : 'off'}`,
        roles[0],
      );
      return;
    }
    if (coarse || k < Math.min(m, n)) {
      const [end, start] = coarse ? [0.72, 0.86] : [0.79, 0.79];
      scene.path(`half.a${k}`, `M${x1} ${y1}A${rx} ${ry} 0 0 1 ${on(end)}`, 'arc', roles[0]);
      scene.path(`half.b${k}`, `M${on(start)}A${rx} ${ry} 0 0 1 ${x2} ${y2}`, 'arc', roles[1]);
      return;
    }
    const [u, v] = k < m ? [x1, y1 - 20] : [x2 - 20, y2];
    scene.path(`half.${k < m ? 'a' : 'b'}${k}`, `M${u} ${v}${k < m ? 'v' : 'h'}20`, 'arc', roles[k < m ? 0 : 1]);
    scene.path(`half.cross${k}`, `M${u - 5} ${v - 5}l10 10m0 -10l-10 10`, 'fault');
  });
}

/** Where Σ stands: outside the outermost arc, at its bend, or higher up the arc where the stage ends. */
export function sumPlace(scene, product, a, b, words) {
  const [x1, y1] = [a.x + Math.min(a.w / 2, (a.right - a.x) / 6), a.y - (scene.narrow ? 28 : 14) - a.lift];
  const [x2, y2] = [b.x - 14, b.y + Math.min(b.h / 2, (b.bottom - b.y) / 6)];
  const end = Math.max(x2 - 0.75 * (x2 - x1), words.length * 7);
  const t = Math.acos(Math.min(1, Math.max(0, (x2 - end) / (x2 - x1))));
  return [end - 4, y1 - (y1 - y2) * Math.sin(t) - 6];
}
