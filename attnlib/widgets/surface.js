/* The ground that every widget stands on: styles of its own, closed to those of the page, in the page's light or dark. */

import BASE from './base.css';
import { element } from './kit.js';

/** Keep the host in the colours of the page: its data-theme, JupyterLab's, or the system's. */
function followTheme(host, signal) {
  const look = () => {
    const { theme } = document.documentElement.dataset;
    const lab = document.body && document.body.dataset.jpThemeLight;
    host.dataset.scheme =
      theme === 'dark' || theme === 'light'
        ? theme
        : lab === undefined
          ? 'auto'
          : lab === 'false'
            ? 'dark'
            : 'light';
  };
  const watcher = new MutationObserver(look);
  watcher.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
  if (document.body) {
    watcher.observe(document.body, { attributes: true, attributeFilter: ['data-jp-theme-light'] });
  }
  signal.addEventListener('abort', () => watcher.disconnect());
  look();
}

/** A swipe that begins on a slider moves the page, and the slider stays where it was: browsers set it at the first touch. */
function yieldToSwipes(frame, signal) {
  let was = null;
  frame.addEventListener('pointerdown', ({ target }) => (was = target.value), { signal });
  const back = ({ target }) => {
    if (target.type !== 'range') return;
    target.value = was;
    target.dispatchEvent(new Event('input', { bubbles: true }));
  };
  frame.addEventListener('pointercancel', back, { signal });
}

/** Give the host a closed-off frame with `style` on top of what all widgets share. */
export function surface(host, style, signal) {
  const root = host.shadowRoot || host.attachShadow({ mode: 'open' });
  followTheme(host, signal);
  const frame = element('div', { class: 'frame' });
  yieldToSwipes(frame, signal);
  root.replaceChildren(element('style', {}, BASE + style), frame);
  return frame;
}
