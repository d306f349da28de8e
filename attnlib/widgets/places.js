/* The page's side of every widget: finds its places, reads the data that stands in each, mounts it there once, and ends
   what has left the page. What reads without scripts stays in the page, for print. */

import { element } from './kit.js';

const ends = new Map(); // place -> what ends the widget in it
const left = new Map(); // id -> where the reader was in a widget that has gone: the one that takes its place opens there

/** Two widgets of one name get ids of their own; links of the prose mean the first. */
function nameApart(place) {
  const { id } = place;
  const taken = () => [...ends.keys()].some((other) => other.id === place.id);
  for (let n = 2; taken(); n++) place.id = `${id}-${n}`;
}

function mount(place, render) {
  const state = place.querySelector('script[type="application/json"]');
  if (ends.has(place) || !state) return;
  nameApart(place);
  let data = null;
  try {
    data = JSON.parse(state.textContent);
  } catch {
    /* render says what is wrong */
  }
  const host = element('div', { class: 'attn-host' });
  place.append(host);
  for (const still of place.querySelectorAll('.attn-fallback')) still.hidden = true;
  const { id } = place;
  ends.set(place, render({ data, host, id, title: place.dataset.title, at: left.get(id) }));
}

/** End what has left the page, and mount all that waits; `render` gives what ends it. */
export function mountPlaces(selector, render) {
  for (const [place, end] of ends) {
    if (place.isConnected) continue;
    left.set(place.id, end());
    ends.delete(place);
  }
  for (const place of document.querySelectorAll(selector)) mount(place, render);
}

/** Mount now, or as soon as the page has been read. Outputs that say the code is missing were wrong. */
export function startPlaces(selector, mountAll) {
  for (const note of document.querySelectorAll(`${selector} .attn-note`)) note.hidden = true;
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', mountAll);
  else mountAll();
}
