/* A ledger: arithmetic, one line under another, a number's turn in each column. */

import { axisWords } from './axes.js';

/** One line of arithmetic under another; a row is { label, values, ruled, kind, on, masked }. */
export function drawLedger(scene, id, x, y, w, label, rows, lit, word) {
  const n = rows[0].values.length;
  scene.axis(`${id}.axis`, label, x, y - 8, n, w, { on: lit, sum: true, parts: axisWords(scene, label, n, word) });
  rows.forEach((row, r) => {
    const top = y + r * scene.line + (row.ruled ? 6 : 0);
    scene.text(`${id}.label${r}`, x - 10, top + scene.line / 2 + 4, row.label, `end ${row.kind || ''}`);
    if (row.ruled) scene.path(`${id}.rule${r}`, `M${x} ${top - 3}h${n * w}`, 'rule');
    row.values.forEach((value, d) =>
      scene.cell(`${id}.${r}.${d}`, x + d * w, top, value, {
        w,
        h: scene.line,
        digits: row.digits ?? 2,
        masked: (row.masked && row.masked(d)) || undefined,
        kind: `${lit === d ? 'on' : ''} ${row.on && row.on(d) ? 'on' : ''}`,
      }),
    );
  });
  return y + rows.length * scene.line + 6;
}
