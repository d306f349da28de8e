/* The numbers of a step as tables, one a sheet: the same facts as the figure, for those who do not see it. */

import { code, element, number, range, say, table, write } from './kit.js';
import { count, indices, named, namedShape, sheet, shown, sizedShape, wordsOf } from './tensor.js';

const LONG = 2000; // more numbers than these are no table that anybody reads

/** What records the numbers of a tensor that is not tiny; there are none on `meta`, and complex ones are never kept. */
const remedy = ({ device, dtype, shape }) =>
  device === 'meta' || dtype.startsWith('complex')
    ? ''
    : say` (${code(`trace(…, tiny=${count({ shape })})`)} records them)`;

/** Every number of a tensor; where there are too many, or none were recorded, the shape in words. */
function tablesOf(trace, tensor) {
  const recorded = tensor.values ? '' : say`, numbers not recorded${remedy(tensor)}`;
  const head = write(
    element('p'),
    say`${named(tensor)} ${namedShape(trace, tensor)} = ${sizedShape(tensor)}${recorded}`,
  );
  if (!tensor.values || count(tensor) === 0 || count(tensor) > LONG) return [head];
  return [head, ...indices(tensor.shape.slice(0, -2)).map((index) => sheetTable(trace, tensor, index))];
}

function sheetTable(trace, tensor, index) {
  const at = Object.fromEntries(index.map((i, axis) => [tensor.dims[axis], i]));
  const view = sheet(tensor, at);
  const words = wordsOf(trace, view);
  const digits = Math.max(2, tensor.digits);
  return table(
    index.map((i, axis) => `${tensor.dims[axis]} ${i}`).join(', ') || shown(tensor),
    ['', ...range(view.cols).map(String)],
    range(view.rows).map((i) => [
      words ? `${i} ${words[i]}` : String(i),
      ...range(view.cols).map((j) => number(view.value(i, j), digits)),
    ]),
  );
}

/** Fill the part of a player that is folded under its figure, while it is open. */
export function showTables({ part, trace, step, hidden }) {
  const tensors = [...step.inputs, ...(hidden ? [] : step.outputs)];
  part.tables.replaceChildren(...tensors.flatMap((tensor) => tablesOf(trace, tensor)));
}
