/* A field that holds an order of things, changed by moving one of them up or down. */

import { button, clamp, element, range, write } from '../kit.js';
import ORDER from './order.css';


/** An order of things, changed by moving one of them up or down; its value lists which stands where. */
export function order(name, { label, words, role = '' }) {
  const n = words.length;
  const start = range(n);
  return {
    name,
    start,
    style: ORDER,
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
