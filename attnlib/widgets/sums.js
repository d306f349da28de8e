/* How numbers of a product come about, beside its cross: one as a growing sum of terms, a row as a mix of rows. */

import { code, decimals, isFaint, number, range, say } from './kit.js';
import { drawLedger } from './ledger.js';
import { bLabel, sheetsOf, terms } from './operands.js';
import { SLIVER } from './softmax.js';
import { axisRole, brief, isClosed, shown } from './tensor.js';

const LEDGER = 10; // up to so many terms it is written out at all

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
  const digits = Math.max(2, decimals(pairs.map(([p, q]) => p * q), 3)); // one more where parts are rounded
  let sum = 0;
  const sums = pairs.map(([x, y], k) => {
    sum += x * y;
    return k === pairs.length - 1 ? result - bias : sum;
  });
  const { x, y, w } = ledgerPlace(scene, places, pairs.length);
  const last = pairs.length - 1;
  const bottom = drawLedger(scene, 
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
        digits,
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
    label: `${number(a.value(i, k), product.left.digits)} × ${brief(shown(product.right), 8)}[${k}]`,
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
  const digits = isFaint(rows.flatMap((row) => row.values)) ? 3 : 2;
  for (const row of rows) row.digits = digits;
  const { x, y, w } = ledgerPlace(scene, places, b.cols);
  drawLedger(scene, 'ledger', x, y, w, b.colDim, rows);
  range(a.cols).forEach((k) =>
    scene.box(
      `share${k}`,
      x + b.cols * w + 8,
      y + k * scene.line + scene.line / 2 - 6,
      a.value(i, k) && SLIVER + a.value(i, k) * 56,
      12,
      'segment',
      axisRole(scene.trace, a.colDim),
    ),
  );
}
