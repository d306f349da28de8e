/* The list of steps: one entry a row, folds that open, the current row marked. Entries are made once and kept. */

import { button, element, write } from './kit.js';
import { namedShape, shown } from './tensor.js';
import { warningsAt } from './warned.js';

/** The name a row is listed under: that of its result, where a part of a line has no variable. */
function title(step) {
  const [output] = step.outputs;
  const own = output && step.outputs.length === 1 && step.kind !== 'fold' && shown(output) !== output.name;
  return own ? output.name : step.variable;
}

function shapeOf(trace, { outputs: [output], kind }) {
  return output ? namedShape(trace, output) : [{ text: kind === 'error' ? 'error' : '', kind: '' }];
}

function entry(trace, row) {
  const { step } = row;
  const says = step.kind === 'fold' ? '' : step.code;
  const warned = warningsAt(trace, step).length;
  const item = element(
    'li',
    { class: row.depth ? 'inner' : '' },
    button(
      { class: warned || step.kind === 'error' ? 'go failed' : 'go' },
      element('span', { class: 'nth' }, row.name),
      element('span', { class: 'name' }, title(step)),
      write(element('span', { class: 'shape' }), shapeOf(trace, step)),
      element('span', { class: 'line' }, says),
      warned ? element('span', { class: 'warned' }, 'warning') : '',
    ),
  );
  if (row.holds) {
    const label = `${row.holds}, ${title(step)}`;
    row.toggle = button({ class: 'fold', 'aria-expanded': 'false', 'aria-label': label }, row.holds);
    item.append(row.toggle);
  }
  return item;
}

/** The list; `go(row)` and `fold(row)` are what its buttons do. */
export class Steps {
  constructor(list, trace, signal, { go, fold }) {
    Object.assign(this, { list, trace, rows: [], marked: null, owner: new WeakMap() });
    list.addEventListener(
      'click',
      (event) => {
        const item = event.target.closest('li');
        const row = item && this.owner.get(item);
        if (row) (event.target.closest('.fold') ? fold : go)(row);
      },
      { signal },
    );
  }

  /** List these rows. */
  fill(rows, game) {
    this.rows = rows;
    for (const row of rows) {
      if (!row.item) {
        row.item = entry(this.trace, row);
        this.owner.set(row.item, row);
      }
      if (row.toggle) row.toggle.ariaExpanded = row.open;
    }
    this.list.replaceChildren(...rows.map((row) => row.item));
    if (game) this.hide(game);
  }

  /** Shapes that are still to be predicted stand as question marks. */
  hide(game) {
    for (const { step, item } of this.rows) {
      write(item.querySelector('.shape'), game?.hides(step) ? game.shape(step) : shapeOf(this.trace, step));
    }
  }

  mark(row) {
    if (this.marked) this.marked.item.firstChild.ariaCurrent = null;
    row.item.firstChild.ariaCurrent = 'step';
    this.marked = row;
  }

  /** Bring the current row into view where the list scrolls by itself; the page stays where it is. */
  follow() {
    const { list, marked } = this;
    if (!marked || list.scrollHeight <= list.clientHeight) return;
    const { offsetTop: top, offsetHeight: height } = marked.item;
    if (top < list.scrollTop || top + height > list.scrollTop + list.clientHeight) {
      list.scrollTop = top - list.clientHeight / 3;
    }
  }
}
