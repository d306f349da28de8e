/* The page's side: finds every player on a page, reads the trace that stands in it, and mounts it in place of its table. */

import { render } from './player.js';

const mounted = new Map();
const left = new Map(); // where the reader was in a player that has gone: the one that takes its place opens there

/** Mount one `.attn-player`; the table stays in the page for print and for those who come without scripts. */
export function mount(place) {
  if (mounted.has(place)) return;
  const state = place.querySelector('script[type="application/json"]');
  const table = place.querySelector('.attn-fallback');
  if (!state) return;
  let trace = null;
  try {
    trace = JSON.parse(state.textContent);
  } catch {
    /* render says what is wrong */
  }
  const host = document.createElement('div');
  host.className = 'attn-host';
  place.append(host);
  if (table) table.hidden = true;
  mounted.set(place, render({ trace, host, id: place.id, title: place.dataset.title, at: left.get(place.id) }));
}

/** Mount what is there, clean up what has left the page. */
export function mountAll() {
  for (const [place, end] of mounted) {
    if (!place.isConnected) {
      left.set(place.id, end());
      mounted.delete(place);
    }
  }
  document.querySelectorAll('.attn-player').forEach(mount);
}

export default { mount, mountAll };
