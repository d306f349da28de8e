/* A product drawn as a cross: the left operand below on the left, the right operand above on the right, the result where
   row and column meet; the contracted dim bends from one to the other. */

import { code, dim, number, plain, range, say } from './kit.js';
import { unit } from './scene.js';
import { axisRole, brief, dimName, dimSize, isClosed, isPair, rank, sheet, shown } from './trace.js';

const TURNED = ['linear', 'project', 'attention_scores']; // the right operand is drawn turned
const MATMUL = ['matmul', 'bmm', 'mm', 'weighted_sum'];
const LEDGER = 10; // up to so many terms it is written out at all

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

function drawArcs(scene, product, a, b, d) {
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
function sumPlace(scene, product, a, b, words) {
  const [x1, y1] = [a.x + Math.min(a.w / 2, (a.right - a.x) / 6), a.y - (scene.narrow ? 28 : 14) - a.lift];
  const [x2, y2] = [b.x - 14, b.y + Math.min(b.h / 2, (b.bottom - b.y) / 6)];
  const end = Math.max(x2 - 0.75 * (x2 - x1), words.length * 7);
  const t = Math.acos(Math.min(1, Math.max(0, (x2 - end) / (x2 - x1))));
  return [end - 4, y1 - (y1 - y2) * Math.sin(t) - 6];
}

/** @param show which numbers of the result stand there already */
export function drawCross(scene, product, { i, j, d, show = () => true, arcs = true } = {}) {
  const { a: left, b: right, c: result } = sheetsOf(product, scene.at);
  const fits = product.inner[0] === product.inner[1];
  const tensors = [product.left, product.right, ...(product.result ? [product.result] : [])];
  const { w, h } = scene.fit(
    left.cols + right.cols,
    left.rows + right.rows,
    scene.width - scene.left - scene.gap - (scene.narrow ? 34 : 60),
    400,
    tensors,
  );
  const [cw, rh] = [unit(w, right.cols), unit(h, left.rows)];
  const bx = scene.left + left.cols * w + scene.gap;
  const ay = scene.top + right.rows * h + scene.rise;
  const square = result && isPair(scene.trace, result);
  const mixes = isPair(scene.trace, left);
  const near = (own, other) => (other === undefined ? '' : own === other ? 'on' : '');
  const a = scene.grid(left, scene.left, ay, {
    w,
    h: rh,
    nameBelow: true,
    col: { sum: true },
    row: square ? { word: 'queries' } : {},
    lit: { i, j: d },
    kind: (r, k) => (i === undefined ? '' : r === i ? near(k, d) : 'off'),
    pick: (r) => ({ i: r }),
  });
  const b = scene.grid(right, bx, scene.top, {
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
  const sum = fits
    ? say`Σ over ${dimName(scene.trace, product.dims[0])}${mixes ? dim(' keys', 'S') : ''}`
    : say`${dimSize(scene.trace, product.dims[0], product.inner[0])} ≠ ${dimSize(scene.trace, product.dims[1], product.inner[1])}`;
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
  const c = scene.grid(result, bx, ay, {
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

/** The bias as one row under the result: every row of the result has it in it. What comes below it moves down. */
function drawBias(scene, { bias }, c, j) {
  const y = c.bottom + c.depth + (c.depth ? 104 : 92);
  const row = scene.grid(sheet(bias, {}), c.x, y, {
    w: c.w,
    h: c.h,
    name: `+ ${shown(bias)}`,
    words: false,
    col: { under: true },
    lit: { j },
  });
  if (j !== undefined) scene.band('shift', row, { j });
  c.under = row.bottom + 10 - c.bottom - c.depth;
}

/** Beside the cross where there is room, under it where there is none. */
function ledgerPlace(scene, { b, c }, cols) {
  const w = scene.narrow ? Math.min(44, (scene.width - 104) / cols) : 40;
  const x = Math.min(c.right + 122, scene.width - cols * w - 4);
  if (scene.wide && x - 90 > b.right + 12) return { x, y: b.y, w };
  const left = scene.narrow ? 100 : 130;
  const under = left + cols * w + 12 > c.x ? c.under || 0 : 0;
  return { x: left, y: c.bottom + c.depth + under + (scene.narrow ? 92 : 96), w };
}

export function drawSum(scene, product, places, i, j, d) {
  const pairs = terms(product, scene.at, i, j);
  if (!pairs || pairs.length > LEDGER) return;
  const result = sheetsOf(product, scene.at).c.value(i, j);
  const bias = product.bias && product.bias.values ? product.bias.values[j] : 0;
  const now = (k) => d === undefined || k <= d;
  let sum = 0;
  const sums = pairs.map(([x, y], k) => {
    sum += x * y;
    return k === pairs.length - 1 ? result - bias : sum;
  });
  const { x, y, w } = ledgerPlace(scene, places, pairs.length);
  const last = pairs.length - 1;
  const bottom = scene.ledger(
    'ledger',
    x,
    y,
    w,
    product.dims[0],
    [
      {
        label: `${brief(shown(product.left), 12)}[${i}, d]`,
        values: pairs.map((pair) => pair[0]),
        digits: product.left.digits,
      },
      {
        label: `${brief(bLabel(product).split('.').at(-1), 12)}[d, ${j}]`,
        values: pairs.map((pair) => pair[1]),
        digits: product.right.digits,
      },
      { label: 'product', values: pairs.map(([p, q], k) => (now(k) ? p * q : null)) },
      {
        label: 'sum so far',
        values: sums.map((value, k) => (now(k) ? value : null)),
        ruled: true,
        on: (k) => now(k) && k === (d ?? last),
      },
    ],
    d,
  );
  if (product.bias && product.bias.values) {
    scene.text(
      'bias',
      x,
      bottom + 18,
      say`plus ${code(`${shown(product.bias)}[${j}]`)} = ${number(bias)} makes ${number(result)}`,
      'ink',
    );
  }
}

export function drawMix(scene, product, places, i) {
  const { a, b, c } = sheetsOf(product, scene.at);
  if (!product.left.values || !product.right.values || a.cols > LEDGER || b.cols > 2 * LEDGER) {
    return;
  }
  const rows = range(a.cols).map((k) => ({
    label: `${number(a.value(i, k))} × ${brief(shown(product.right), 8)}[${k}]`,
    kind: a.value(i, k) ? 'ink' : '',
    values: range(b.cols).map((h) => a.value(i, k) * b.value(k, h)),
    masked: () => isClosed(product.left, a.index(i, k)),
  }));
  rows.push({
    label: `${brief(shown(product.result), 12)}[${i}]`,
    kind: 'ink',
    ruled: true,
    values: range(c.cols).map((h) => c.value(i, h)),
    on: () => true,
  });
  const { x, y, w } = ledgerPlace(scene, places, b.cols);
  scene.ledger('ledger', x, y, w, b.colDim, rows);
  range(a.cols).forEach((k) =>
    scene.box(
      `share${k}`,
      x + b.cols * w + 8,
      y + k * scene.line + scene.line / 2 - 6,
      Math.max(1, a.value(i, k) * 56),
      12,
      'segment',
      axisRole(scene.trace, a.colDim),
    ),
  );
}
