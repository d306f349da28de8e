/* Everything the player listens to; the player's signal ends it. */

import { onLink } from './links.js';

const KEYS = 104; // so high are they at most

export function listen(player) {
  const on = (node, name, run) => node.addEventListener(name, run, { signal: player.signal });
  listenToControls(player, on);
  listenToCells(player, on);
  onLink(() => player.follow(), player.signal);
}

function listenToControls(player, on) {
  const { part } = player;
  for (const [name, tool] of Object.entries(part.tools)) on(tool, 'click', () => player.use(name));
  // By mouse or finger: the keys stay the player's, and the space bar plays. By whatever: what changes is seen.
  const toStage = ({ detail }) => {
    if (detail) part.stage.focus({ preventScroll: true });
    look(part);
  };
  on(part.steps, 'click', toStage);
  const keys = { first: 'Home', back: 'ArrowLeft', next: 'ArrowRight', last: 'End' };
  for (const [name, control] of Object.entries(part.controls)) {
    on(control, 'click', (event) => {
      const at = topOf(control);
      if (name === 'play') player.play(!player.state.playing);
      else player.move(keys[name]);
      if (event.detail) hold(control, at, scrollerOf(player.host));
      toStage(event);
    });
  }
  on(part.scrub, 'input', (event) => {
    player.go(part.scrub.value - 1);
    toStage(event);
  });
  on(part.speed, 'change', () => player.setSpeed(Number(part.speed.value)));
  on(part.picks, 'change', ({ target }) => player.choose(target.dataset.pick, Number(target.value)));
  on(part.details, 'toggle', () => player.showTables());
  on(part.sizes, 'toggle', () => player.use('showSizes'));
  on(part.root, 'keydown', (event) => {
    player.key(event);
    if (event.defaultPrevented) toStage(event);
  });
}

/** Bring the figure into the window where not a third of it is there, or that is under the keys. */
function look({ stage, drawing }) {
  const { top, bottom } = drawing.root.getBoundingClientRect();
  const third = (bottom - top) / 3;
  if (bottom < third || top + third > innerHeight - KEYS) stage.scrollIntoView({ block: 'nearest' });
}

/** Scroll back under the hand what something above it, that grew or shrank, has moved: in some steps where it sticks to
 * the window's edge. */
function hold(control, at, scroller) {
  for (let n = 9; n--; ) scroller.scrollBy({ top: topOf(control) - at, behavior: 'instant' });
}

const topOf = (node) => node.getBoundingClientRect().top;

/** What scrolls when a node is scrolled to: the page, or a part of it, as in a notebook. */
function scrollerOf(node) {
  const up = node.parentElement;
  if (!up) return document.scrollingElement;
  return up.scrollHeight > up.clientHeight && /auto|scroll/.test(getComputedStyle(up).overflowY) ? up : scrollerOf(up);
}

function listenToCells(player, on) {
  const { drawing, stage } = player.part;
  on(drawing.root, 'click', (event) => {
    const mark = drawing.cellAt(event);
    if (mark) player.touch(mark);
  });
  on(drawing.root, 'pointerover', (event) => player.read(drawing.cellAt(event) || player.figure.cursor));
  on(drawing.root, 'pointerleave', () => player.read(player.figure.cursor));
  on(stage, 'blur', () => player.figure.point(null));
}
