/* A field that holds many values: a table of numbers to type into. */

import { element, range, write } from '../kit.js';
import NUMBERS from './numbers.css';

/** A table of numbers to type into; its value is a list of rows. `heads` names the rows, `role` colours the columns. */
export function numbers(name, { label, start, heads, role = '', most = 9, step = 1 }) {
  const [rows, cols] = [start.length, start[0].length];
  const legal = (value) => Number.isFinite(value) && Math.abs(value) <= most;
  return {
    name,
    start,
    style: NUMBERS,
    read(word) {
      const given = word.split(',').map(Number);
      if (given.length !== rows * cols || !given.every(legal)) return undefined;
      return range(rows).map((i) => given.slice(i * cols, (i + 1) * cols));
    },
    control(set, signal) {
      let shown = start;
      const inputs = range(rows).map((i) =>
        range(cols).map((j) =>
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
