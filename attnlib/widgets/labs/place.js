/* A lab's side of the page: its code stands once on a page, finds the lab's places, and mounts it in each. */

import { render } from './lab.js';

const mounted = new Map();

function mount(place, lab) {
  const state = place.querySelector('script[type="application/json"]');
  if (mounted.has(place) || !state) return;
  let data = null;
  try {
    data = JSON.parse(state.textContent);
  } catch {
    /* render says what is wrong */
  }
  const host = document.createElement('div');
  host.className = 'attn-host';
  place.append(host);
  for (const still of place.querySelectorAll('.attn-fallback')) still.hidden = true;
  mounted.set(place, render(lab, { data, host, id: place.id, title: place.dataset.title }));
}

/** Mount every place of a lab, now and whenever a later output calls again; end what has left the page. */
export function start(name, lab) {
  const labs = (window.attnlibLabs ??= {});
  labs[name] ??= () => {
    for (const [place, end] of mounted) {
      if (place.isConnected) continue;
      end();
      mounted.delete(place);
    }
    for (const place of document.querySelectorAll(`.attn-lab[data-lab="${name}"]`)) mount(place, lab);
  };
  for (const note of document.querySelectorAll(`.attn-lab[data-lab="${name}"] .attn-note`)) note.hidden = true;
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', labs[name]);
  else labs[name]();
}
