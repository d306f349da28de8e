/* One player fills the screen, as large as its figure allows, for a class. Its state is the host's data-present. */

import { clamp } from './kit.js';

const [WIDE, HIGH] = [1180, 860]; // what a player needs at its own size, if no figure of it is taller
const SMALL = 0.8; // smaller, a class could not read it

/** Begin, until the button is pressed again, Escape is, or the reader leaves the full screen. */
export function present(player) {
  const { host, part, signal, figure } = player;
  if (host.hasAttribute('data-present')) {
    player.unpresent();
    return;
  }
  const ending = new AbortController();
  const place = host.parentNode.style;
  const on = (node, name, run, capture = false) => node.addEventListener(name, run, { signal: ending.signal, capture });
  const zoom = (scale) => (part.root.parentNode.style.zoom = scale);
  const fit = () => {
    zoom('');
    const [top, end] = [part.root, part.details].map((node) => node.getBoundingClientRect().top);
    zoom(clamp(Math.min(innerWidth / WIDE, innerHeight / Math.max(HIGH, end - top)), SMALL, 3));
  };
  const set = (now) => {
    host.toggleAttribute('data-present', now);
    part.tools.present.setAttribute('aria-pressed', String(now));
  };
  const end = () => {
    ending.abort();
    set(false);
    if (document.fullscreenElement === host) document.exitFullscreen();
    zoom('');
    place.minHeight = '';
    part.stage.focus({ preventScroll: true });
  };
  player.unpresent = end;
  place.minHeight = `${host.offsetHeight}px`; // the page keeps its length, and the reader the place in it
  set(true);
  if (navigator.userActivation?.isActive) host.requestFullscreen?.().catch(() => {});
  on(signal, 'abort', end);
  on(window, 'resize', fit);
  on(document, 'fullscreenchange', () => document.fullscreenElement || end());
  // Before the player hears of it: there Escape takes the cursor off the cells, and that is all it does then.
  on(part.root, 'keydown', (event) => event.key === 'Escape' && !figure.cursor && end(), true);
  fit();
  part.stage.focus();
}
