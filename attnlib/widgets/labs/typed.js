/* Fields that hold many values: a table of numbers to type into, an order of things to change. */

import { clamp, element, range as upTo, write } from '../kit.js';
import STYLE from './typed.css';

const button = (attributes, ...children) => element('button', { type: 'button', ...attributes }, ...children);

/** A table of numbers to type into; its value is a list of rows. `heads` names the rows, `role` colours the columns. */
export function numbers(name, { label, start, heads, role = '', most = 9, step = 1 }) {
  const [rows, cols] = [start.length, start[0].length];
  const legal = (value) => Number.isFinite(value) && Math.abs(value) <= most;
  return {
    name,
    start,
    style: STYLE,
    read(word) {
      const given = word.split(',').map(Number);
      if (given.length !== rows * cols || !given.every(legal)) return undefined;
      return upTo(rows).map((i) => given.slice(i * cols, (i + 1) * cols));
    },
    control(set, signal) {
      let shown = start;
      const inputs = upTo(rows).map((i) =>
        upTo(cols).map((j) =>
          element('input', {
            type: 'number',
            min: -most,
            max: most,
            step,
            'data-field': name,
            'aria-label': `${name}[${i}, ${j}]`,
          }),
        ),
      );
      const node = element(
        'table',
        { class: `numbers ${role}` },
        write(element('caption'), label),
        element(
          'tbody',
          {},
          ...inputs.map((row, i) =>
            element(
              'tr',
              {},
              element('th', { scope: 'row' }, heads ? heads[i] : String(i)),
              ...row.map((input) => element('td', {}, input)),
            ),
          ),
        ),
      );
      const take = (i, j) => {
        const typed = inputs[i][j].value;
        const value = Number(typed);
        inputs[i][j].toggleAttribute('aria-invalid', typed === '' || !legal(value));
        if (typed === '' || !legal(value)) return;
        set({ [name]: shown.map((row, r) => row.map((old, c) => (r === i && c === j ? value : old))) });
      };
      inputs.forEach((row, i) =>
        row.forEach((input, j) => {
          input.addEventListener('input', () => take(i, j), { signal });
          // What is no number goes when the field is left, so that all that is shown is what was computed with.
          input.addEventListener('blur', () => show(shown), { signal });
        }),
      );
      const show = (value) => {
        shown = value;
        inputs.forEach((row, i) =>
          row.forEach((input, j) => {
            if (input.value === '' || Number(input.value) !== value[i][j]) input.value = value[i][j];
            if (input.matches(':focus')) return;
            input.removeAttribute('aria-invalid');
          }),
        );
      };
      return { node, show };
    },
  };
}

/** An order of things, changed by moving one of them up or down; its value lists which stands where. */
export function order(name, { label, words, role = '' }) {
  const n = words.length;
  const start = upTo(n);
  return {
    name,
    start,
    style: STYLE,
    read(word) {
      const given = word.split(',').map(Number);
      return start.every((i) => given.includes(i)) && given.length === n ? given : undefined;
    },
    control(set, signal) {
      let shown = start;
      const list = element('ol', { class: `order ${role}`, start: 0 });
      const move = (at, by) => {
        const to = clamp(at + by, 0, n - 1);
        const next = [...shown];
        [next[at], next[to]] = [next[to], next[at]];
        set({ [name]: next });
        list.children[to].querySelector(by < 0 ? '.up' : '.down').focus();
      };
      const rows = start.map((at) => {
        const word = element('span');
        const moves = [-1, 1].map((by) =>
          button({ class: by < 0 ? 'up' : 'down', 'data-field': name }, by < 0 ? '↑' : '↓'),
        );
        moves.forEach((node, k) => node.addEventListener('click', () => move(at, k ? 1 : -1), { signal }));
        list.append(element('li', {}, word, ...moves));
        return { word, moves };
      });
      const show = (value) => {
        shown = value;
        rows.forEach(({ word, moves }, at) => {
          word.textContent = words[value[at]];
          moves.forEach((node, k) =>
            node.setAttribute('aria-label', `move ${words[value[at]]} ${k ? 'down' : 'up'} from place ${at}`),
          );
        });
      };
      return { node: element('fieldset', { class: 'choice list' }, write(element('legend'), label), list), show };
    },
  };
}
