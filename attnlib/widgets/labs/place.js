/* The places of one lab on a page: its code stands there once, and later outputs call it again. */

import { mountPlaces, startPlaces } from '../places.js';
import { render } from './lab.js';

export function start(name, lab) {
  const selector = `.attn-lab[data-lab="${name}"]`;
  const labs = (window.attnlibLabs ??= {});
  labs[name] ??= () => mountPlaces(selector, (place) => render(lab, place));
  startPlaces(selector, labs[name]);
}
