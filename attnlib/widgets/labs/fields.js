/* What a reader can set: each field is one value of a lab's state, a native control, and a word in a link. */

import { element, write } from '../kit.js';

/** @typedef {{ name: string, start: any, read: (text: string) => any, control: (set: Function, signal: AbortSignal) =>
 *              { node: Element, show: (value: any, state: object) => void } }} Field
 * `read` gives the value that a link's text means, or undefined. */

/** One of `stops`, on a slider. `text` writes a stop as people say it; `used` says in which states it changes anything. */
export function slider(name, { label, stops, start, role = '', text = String, used = () => true }) {
  return {
    name,
    start,
    read: (word) => stops.find((stop) => String(stop) === word),
    control(set, signal) {
      const input = element('input', { type: 'range', class: role, max: stops.length - 1, 'data-field': name });
      const out = element('span', { class: `dim ${role}` }); // an output would take the label from the slider
      input.addEventListener('input', () => set({ [name]: stops[input.value] }), { signal });
      const show = (value, state) => {
        input.disabled = !used(state);
        input.value = stops.indexOf(value);
        out.textContent = text(value);
        input.setAttribute('aria-valuetext', text(value));
      };
      return { node: element('label', { class: 'slider' }, write(element('span'), label), out, input), show };
    },
  };
}

/** One of a few options, all in sight. An option is [value, parts or text]. */
export function choice(name, { label, options, start = options[0][0] }) {
  return {
    name,
    start,
    read: (word) => options.map(([value]) => value).find((value) => String(value) === word),
    control(set, signal) {
      const radios = options.map(([value]) => element('input', { type: 'radio', name, value, 'data-field': name }));
      const node = element(
        'fieldset',
        { class: 'choice' },
        write(element('legend'), label),
        ...options.map(([, text], n) =>
          element('label', {}, radios[n], write(element('span'), [text].flat().map(asPart))),
        ),
      );
      node.addEventListener('change', () => set({ [name]: options[radios.findIndex((r) => r.checked)][0] }), {
        signal,
      });
      const show = (value) => {
        radios.forEach((radio, n) => (radio.checked = options[n][0] === value));
      };
      return { node, show };
    },
  };
}
const asPart = (part) => (part.kind === undefined ? { text: String(part), kind: '' } : part);
