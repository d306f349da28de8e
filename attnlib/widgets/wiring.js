/* Everything the player listens to; the player's signal ends it. */

export function listen(player) {
  const on = (node, name, run) => node.addEventListener(name, run, { signal: player.signal });
  listenToControls(player, on);
  listenToCells(player, on);
  listenToPage(player, on);
}

function listenToControls(player, on) {
  const { part } = player;
  const tools = {
    predict: () => player.predict(!player.game.on),
    copy: () => player.copy(),
    save: () => player.save(),
    present: () => player.present(!player.host.dataset.present),
  };
  for (const [name, tool] of Object.entries(part.tools)) on(tool, 'click', tools[name]);
  const go = {
    first: () => 0,
    back: () => player.here - 1,
    next: () => player.here + 1,
    last: () => player.places.total - 1,
  };
  for (const [name, control] of Object.entries(part.controls)) {
    on(control, 'click', () => (name === 'play' ? player.play(!player.state.playing) : player.go(go[name]())));
  }
  on(part.scrub, 'input', () => player.go(part.scrub.value - 1));
  on(part.speed, 'change', () => player.setSpeed(Number(part.speed.value)));
  on(part.picks, 'change', ({ target }) => player.choose(target.dataset.pick, Number(target.value)));
  on(part.details, 'toggle', () => player.showTables());
  on(part.sizes, 'toggle', () => player.showSizes());
  on(part.root, 'keydown', (event) => player.key(event));
}

function listenToCells(player, on) {
  const { drawing, stage } = player.part;
  const cellOf = (event) => {
    const node = event.target.closest('.cell');
    return node && drawing.markOf(node);
  };
  on(drawing.root, 'click', (event) => {
    const mark = cellOf(event);
    if (mark) player.touch(mark);
  });
  on(drawing.root, 'pointerover', (event) => player.read(cellOf(event) || player.figure.cursor));
  on(drawing.root, 'pointerleave', () => player.read(player.figure.cursor));
  on(stage, 'blur', () => player.figure.point(null));
}

function listenToPage(player, on) {
  on(document, 'fullscreenchange', () => {
    if (!document.fullscreenElement) player.present(false);
  });
  on(window, 'resize', () => player.zoom());
  on(window, 'hashchange', () => player.follow(location.hash));
  on(document, 'click', (event) => {
    const link = event.target.closest && event.target.closest('a[href]');
    const hash = link && link.getAttribute('href');
    if (hash && hash.startsWith('#') && hash === location.hash) player.follow(hash);
  });
}
