/* The axes of a grid: one segment an index, its dimension's name and size, and the words of its tokens. */

import { dim } from './kit.js';
import { axisRole, brief, dimSize, isPair, wordsOf } from './tensor.js';

export function drawAxes(scene, id, view, place, options) {
  const pair = isPair(scene.trace, view) && !options.plain;
  const { row = {}, col = {} } = options;
  const rows = { ...options, row: { word: pair && 'queries', ...row } };
  if (view.rowDim !== null) drawRows(scene, id, view, place, rows);
  const cols = { ...options, col: { word: pair && 'keys', ...col } };
  if (view.colDim !== null) drawCols(scene, id, view, place, cols);
}

/** "S = 3 queries": where S meets S, each axis says which of the two it is. */
export function axisWords(scene, label, size, word) {
  const extra = word ? [dim(` ${word}`, axisRole(scene.trace, label))] : [];
  return [...dimSize(scene.trace, label, size), ...extra];
}

function drawRows(scene, id, view, place, { row = {}, words = true, lit = {} }) {
  const { x, y, h, rows, right, bottom, block, depth } = place;
  const silent = row.sum || row.bare;
  const short = rows * h < 40 && !silent;
  // Beside one row there is room for a name and a number; Sq is not taken for Sk.
  const named = short && !scene.narrow && view.rowDim !== view.colDim;
  const says = axisWords(scene, view.rowDim, rows, named ? '' : row.word);
  const spoken = words && !scene.narrow && !block && !row.right && !row.sum && h > 13;
  const tokens = (spoken && wordsOf(scene.trace, view)) || [];
  const away = row.away || (tokens.length ? 56 : 0);
  if (scene.narrow && !block && words !== 'none') sayAside(scene, id, view, { right, y, h, depth, words });
  scene.axis(
    `${id}.axis.${view.rowDim}`,
    view.rowDim,
    row.right ? right + 9 + depth : x - 9,
    bottom,
    rows,
    h,
    {
      upright: true,
      under: row.right,
      sum: row.sum,
      on: lit.i,
      whole: block || h < 8,
      parts: silent || short ? [] : says,
      away,
    },
  );
  if (row.sum) scene.text(`${id}.rows`, x - 14, y - 5, says, 'end strong');
  if (short && scene.narrow) place.said = says; // there it has no room but beside the name
  else if (short) {
    const [at, side] = row.right ? [right + 18 + depth, ''] : [x - 16 - away, 'end '];
    scene.text(`${id}.rows`, at, y + (rows * h) / 2 + 4, says, `${side}strong`);
  }
  tokens.forEach((word, i) => {
    scene.text(`${id}.word${i}`, x - 16, y + (i + 0.5) * h + 4, word, lit.i === i ? 'end ink' : 'end');
  });
}

/** On a phone the words stand to the right of a grid that is alone, else in a line of their own under the figure. */
function sayAside(scene, id, view, { right, y, h, depth, words }) {
  const tokens = wordsOf(scene.trace, view);
  if (!tokens) return;
  if (words !== 'right') scene.unsaid = { tokens, label: view.rowDim };
  else tokens.forEach((word, i) => scene.text(`${id}.word${i}`, right + depth + 8, y + (i + 0.5) * h + 4, word));
}

function drawCols(scene, id, view, { x, y, w, cols, bottom, block, depth, tokens, lift }, { col = {}, lit = {} }) {
  const says = axisWords(scene, view.colDim, cols, col.word);
  const away = lift ? -lift : tokens.length ? 14 : 0;
  tokens.forEach((word, j) => {
    const kind = lit.j === j ? 'middle small ink' : 'middle small';
    const at = lift ? y - 6 : bottom + depth + 14;
    scene.text(`${id}.key${j}`, x + (j + 0.5) * w, at, brief(word, 8), kind);
  });
  scene.axis(`${id}.axis.${view.colDim}`, view.colDim, x, (col.under ? bottom + 9 + depth : y - 9) + away, cols, w, {
    under: col.under,
    sum: col.sum,
    on: lit.j,
    whole: block || w < 8,
    parts: col.sum ? [] : says,
  });
  if (!col.sum) return;
  const at = scene.narrow ? [Math.max(x + (cols * w) / 2, 36), y - 16] : [x - 14, y - 5 - lift];
  scene.text(`${id}.cols`, ...at, says, scene.narrow ? 'middle strong' : 'end strong');
}
