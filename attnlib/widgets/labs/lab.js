/* What every lab is: fields to set, a figure, one sentence that is also spoken, the same facts as tables, and links in the
   prose that set the fields. State: one value a field; all that is seen follows from it and from the data. A lab's own
   module holds only what is pure: `fields(data)`, `sentence(data, state)`, `draw(scene, data, state)`, `facts(data, state)`. */

import { drawing } from '../drawing.js';
import { element, exact, number, ROLES, say, table, write } from '../kit.js';
import { onLink, wordsFor } from '../links.js';
import { Scene } from '../scene.js';
import { surface } from '../surface.js';
import { shown, valueAt } from '../tensor.js';
import STYLE from './lab.css';

// ---------- pure

/** "H=64;by=root" is { H: '64', by: 'root' }. */
const pairsIn = (words) =>
  Object.fromEntries(words.split(';').map((word) => word.split('=')).filter((pair) => pair.length === 2));

/** The state that a link asks for: the start, and what the link sets where that is legal. */
export function stateOf(fields, words = {}) {
  return Object.fromEntries(
    fields.map(({ name, start, read }) => [name, (name in words ? read(words[name]) : undefined) ?? start]),
  );
}

/** What a figure is drawn in: colours of the dimensions, the value with the full colour, words for the rows of S. */
const worldOf = ({ full = 1, words = null } = {}) => ({
  full,
  words,
  roles: Object.fromEntries(ROLES.map((role) => [role, role])),
});

// ---------- view

const cellText = (value) => (typeof value === 'number' ? number(value, 4) : String(value));
const tableOf = ({ caption, head, rows }) => table(caption, head, rows.map((row) => row.map(cellText)));

function skeleton(id, title, question) {
  const part = {
    drawing: drawing(),
    caption: element('p', { class: 'caption', 'aria-live': 'polite' }),
    reading: element('p', { class: 'reading' }),
    fields: element('div', { class: 'fields', role: 'group', 'aria-label': 'What you can set' }),
    reset: element('button', { type: 'button', class: 'tool' }, 'Start again'),
    tables: element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'The same in tables' }),
  };
  part.stage = element('div', { class: 'stage' }, part.drawing.root);
  part.details = element('details', {}, element('summary', {}, 'The same in tables'), part.tables);
  part.root = element(
    'section',
    { class: 'lab', 'aria-labelledby': `${id}-title` },
    element(
      'header',
      {},
      element('h3', { id: `${id}-title`, class: 'title' }, title),
      element('p', { class: 'deck' }, question[0].toUpperCase() + question.slice(1)),
    ),
    part.fields,
    element('div', { class: 'body' }, part.caption, part.stage, part.reading, part.details),
  );
  return part;
}

// ---------- wiring

class Bench {
  constructor(lab, data, { host, id, title, signal }) {
    Object.assign(this, { lab, data, host, id, signal, fields: lab.fields(data), heights: new Map() });
    this.part = skeleton(id, title, data.question);
    this.state = stateOf(this.fields);
    this.controls = this.fields.map((field) => [field.name, field.control((change) => this.set(change), signal)]);
    this.part.fields.append(...this.controls.map(([, control]) => control.node), this.part.reset);
    this.listen();
  }

  set(change) {
    Object.assign(this.state, change);
    this.show();
  }

  listen() {
    const { part, signal } = this;
    const on = (node, name, run) => node.addEventListener(name, run, { signal });
    on(part.reset, 'click', () => this.set(stateOf(this.fields)));
    on(part.details, 'toggle', () => this.showTables());
    on(part.drawing.root, 'click', (event) => {
      const mark = part.drawing.cellAt(event);
      if (mark && mark.ref.pick) this.set(mark.ref.pick);
    });
    on(part.drawing.root, 'pointerover', (event) => this.read(part.drawing.cellAt(event)));
    on(part.drawing.root, 'pointerleave', () => this.read(null));
    onLink(() => this.follow(), signal);
  }

  follow() {
    const words = wordsFor(this.id, location.hash);
    if (words === null || !this.host.isConnected) return;
    this.set(stateOf(this.fields, pairsIn(words)));
    this.host.scrollIntoView({ block: 'nearest' });
  }

  read(mark) {
    const { tensor, index } = (mark && mark.ref) || {};
    const value = tensor && valueAt(tensor, index);
    this.part.reading.textContent = tensor && value !== null ? `${shown(tensor)}[${index.join(', ')}] = ${exact(value)}` : '';
  }

  show() {
    for (const [name, { show }] of this.controls) show(this.state[name], this.state);
    write(this.part.caption, this.lab.sentence(this.data, this.state));
    this.draw();
    this.showTables();
  }

  /** The stage keeps the height of its highest drawing so far, so that what is below it stays where it is. */
  draw() {
    const { width, lab, data, state } = this;
    if (!(width >= 40)) return;
    const scene = new Scene(worldOf(lab.world && lab.world(data, state)), {}, width);
    lab.draw(scene, data, state);
    scene.sayTokens();
    const { marks, narrow, height } = scene;
    this.part.drawing.patch({ marks, width, height, narrow });
    this.heights.set(width, Math.max(height, this.heights.get(width) || 0));
    this.part.stage.style.minHeight = `${this.heights.get(width)}px`;
  }

  showTables() {
    if (!this.part.details.open) return;
    this.part.tables.replaceChildren(...this.lab.facts(this.data, this.state).map(tableOf));
  }
}

/** Mount a lab in `host`; returns the clean-up.
 * @param {{ data: object, host: Element, id: string, title: string }} options */
export function render(lab, { data, host, id, title }) {
  const ending = new AbortController();
  const { signal } = ending;
  const frame = surface(host, STYLE, signal);
  try {
    const bench = new Bench(lab, data, { host, id, title, signal });
    const styles = new Set([...bench.fields, lab].map((part) => part.style));
    frame.append(...[...styles].filter(Boolean).map((text) => element('style', {}, text)), bench.part.root);
    const sizes = new ResizeObserver(() => {
      bench.width = Math.floor(bench.part.stage.clientWidth);
      bench.draw();
    });
    sizes.observe(bench.part.stage);
    signal.addEventListener('abort', () => sizes.disconnect());
    bench.width = Math.floor(bench.part.stage.clientWidth);
    bench.show();
    bench.follow();
  } catch {
    const words = say`The numbers of this lab are not what it needs; run its cell again.`;
    frame.replaceChildren(write(element('p', { class: 'message', role: 'alert' }), words));
  }
  return () => {
    ending.abort();
    host.shadowRoot.replaceChildren();
  };
}
