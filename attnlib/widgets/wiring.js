/* Everything the player listens to; the player's signal ends it. */

import { onLink } from './links.js';

export function listen(player) {
  const on = (node, name, run) => node.addEventListener(name, run, { signal: player.signal });
  listenToControls(player, on);
  listenToCells(player, on);
  onLink(() => player.follow(), player.signal);
}

function listenToControls(player, on) {
  const { part } = player;
  for (const [name, tool] of Object.entries(part.tools)) on(tool, 'click', () => player.use(name));
  const go = {
    first: () => 0,
    back: () => player.here - 1,
    next: () => player.here + 1,
    last: () => player.places.total - 1,
  };
  for (const [name, control] of Object.entries(part.controls)) {
    on(control, 'click', ({ detail }) => {
      if (name === 'play') player.play(!player.state.playing);
      else player.go(go[name]());
      // By mouse or finger: the keys stay the player's, and the space bar plays.
      if (detail) part.stage.focus({ preventScroll: true });
    });
  }
  on(part.scrub, 'input', () => player.go(part.scrub.value - 1));
  on(part.speed, 'change', () => player.setSpeed(Number(part.speed.value)));
  on(part.picks, 'change', ({ target }) => player.choose(target.dataset.pick, Number(target.value)));
  on(part.details, 'toggle', () => player.showTables());
  on(part.sizes, 'toggle', () => player.use('showSizes'));
  on(part.root, 'keydown', (event) => player.key(event));
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
