/* A product drawn as a cross: the left operand below on the left, the right operand above on the right, the result where
   row and column meet; the contracted dim bends from one to the other. */

import { drawArcs, sumPlace } from './arcs.js';
import { drawGrid } from './grid.js';
import { dim, plain, say } from './kit.js';
import { bLabel, sheetsOf } from './operands.js';
import { unit } from './scene.js';
import { dimName, dimSize, isPair, named, sheet, shown } from './tensor.js';

/** What is summed away; where the inner dims are not of one name, or not of one size, both of them. */
function sumWords(trace, { dims, inner }, mixes) {
  const [left, right] = dims.map((label, n) => dimSize(trace, label, inner[n]));
  if (inner[0] !== inner[1]) return say`${left} ≠ ${right}`;
  if (dims[0] !== dims[1]) return say`Σ: ${left} meets ${right}`;
  return say`Σ over ${dimName(trace, dims[0])}${mixes ? dim(' keys', 'S') : ''}`;
}

/** @param show which numbers of the result stand there already */
export function drawCross(scene, product, { i, j, d, show = () => true, arcs = true } = {}) {
  const { a: left, b: right, c: result } = sheetsOf(product, scene.at);
  const fits = product.inner[0] === product.inner[1];
  const tensors = [product.left, product.right, ...(product.result ? [product.result] : [])];
  const name = `${product.dims[0]} = ${product.inner[0]}`; // beside the grid, where the page is wide
  const ax = scene.narrow ? scene.left : Math.max(scene.left, name.length * 7 + 16);
  const { w, h } = scene.fit(
    left.cols + right.cols,
    left.rows + right.rows,
    scene.width - ax - scene.gap - (scene.narrow ? 34 : 60),
    400,
    tensors,
  );
  const [cw, rh] = [unit(w, right.cols), unit(h, left.rows)];
  const bx = ax + left.cols * w + scene.gap;
  const ay = scene.top + right.rows * h + scene.rise;
  const square = result && isPair(scene.trace, result);
  const mixes = isPair(scene.trace, left);
  const near = (own, other) => (other === undefined ? '' : own === other ? 'on' : '');
  const a = drawGrid(scene, left, ax, ay, {
    w,
    h: rh,
    nameBelow: true,
    col: { sum: true },
    row: square ? { word: 'queries' } : {},
    lit: { i, j: d },
    kind: (r, k) => (i === undefined ? '' : r === i ? near(k, d) : 'off'),
    pick: (r) => ({ i: r }),
  });
  const b = drawGrid(scene, right, bx, scene.top, {
    w: cw,
    h,
    name: bLabel(product),
    row: { sum: true, word: mixes && 'keys' },
    col: square ? { word: 'keys' } : {},
    lit: { i: d, j },
    kind: (k, c) => (j === undefined ? '' : c === j ? near(k, d) : 'off'),
    pick: (k, c) => ({ j: c }),
  });
  if (!arcs) return { a, b };
  drawArcs(scene, product, a, b, d);
  const sum = sumWords(scene.trace, product, mixes);
  scene.text('sum', ...sumPlace(scene, product, a, b, plain(sum)), sum, fits ? 'strong end' : 'strong bad end');
  if (!fits || !result) {
    scene.box('nothing', bx, ay, right.cols * cw, left.rows * rh, 'dashed');
    scene.text(
      'nothing.text',
      bx + (right.cols * cw) / 2,
      ay + (left.rows * rh) / 2 + 4,
      'no product',
      'bad middle strong',
    );
    return { a, b, c: { ...a, x: bx, right: bx + right.cols * cw, bottom: ay + left.rows * rh } };
  }
  const c = drawGrid(scene, result, bx, ay, {
    w: cw,
    h: rh,
    nameBelow: true,
    words: false,
    lit: { i, j },
    show,
    pick: (r, c) => ({ i: r, j: c }),
    row: { right: true, word: (square || mixes) && 'queries' },
    col: { under: true, word: square && 'keys' },
  });
  if (i !== undefined) scene.band('row', a, { i });
  if (j !== undefined) scene.band('column', b, { j });
  if (i !== undefined && j !== undefined) scene.band('hit', c, { i, j });
  if (product.maps && product.bias) drawBias(scene, product, c, j);
  return { a, b, c };
}

/** The bias as one row under the result, which has it in every row of it: so it says. What comes below it moves down. */
function drawBias(scene, { bias, result }, c, j) {
  const y = c.bottom + c.depth + (c.depth ? 104 : 92);
  const row = drawGrid(scene, sheet(bias, {}), c.x, y, {
    w: c.w,
    h: c.h,
    name: shown(bias),
    said: say`already in ${named(result)}`,
    words: false,
    col: { under: true },
    lit: { j },
  });
  if (j !== undefined) scene.band('shift', row, { j });
  c.under = row.bottom + 10 - c.bottom - c.depth;
}
