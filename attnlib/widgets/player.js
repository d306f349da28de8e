/* The player: shows any trace step by step, phase by phase, as labelled grids that change into one another.
   State: { step, phase, i, j, at, playing, speed } and, while shapes are predicted, { on, known, right, asked }; everything
   on the screen follows from these and the trace. */

import { clamp, code, element, plain, range, say, write } from './kit.js';
import { KINDS, fill, icon, picker, skeleton, tablesOf } from './panel.js';
import { asks, hiddenShape, hides, questionView, score, startPredict } from './predict.js';
import { caption, placeAt, placesOf, planOf, reading, rowOf, sceneOf } from './phases.js';
import STYLE from './player.css';
import { hasSizes, sizesView } from './sizes.js';
import { copyText, markdown, saveFile, svgText } from './takeaway.js';
import { choices, dimName, namedShape, readTrace, sizedShape } from './trace.js';

// ---------- defaults

const START = { step: 0, phase: 0, i: undefined, j: 1, at: {}, playing: false, speed: 1 };
const PAUSE = 2600; // milliseconds a phase stands at speed 1

// ---------- pure

/** "#player-head/6.2" for the player "player-head" is step 6, phase 2; null when it names another place. */
export function readLink(hash, id) {
  const [name, place] = decodeLink(hash).split('/');
  const found = name === id && /^(\d{1,6})(?:\.(\d{1,3}))?$/.exec(place || '');
  return found ? { step: Number(found[1]) - 1, phase: Number(found[2] || 1) - 1 } : null;
}
function decodeLink(hash) {
  try {
    return decodeURIComponent(hash.replace(/^#/, ''));
  } catch {
    return '';
  }
}

/** Where a key leads, or null. */
export function keyMove(key, state, { starts, total }) {
  const here = starts[state.step] + state.phase;
  const moves = {
    ArrowRight: here + 1,
    ArrowLeft: here - 1,
    Home: 0,
    End: total - 1,
    PageDown: starts[Math.min(state.step + 1, starts.length - 1)],
    PageUp: starts[Math.max(0, state.step - (state.phase ? 0 : 1))],
  };
  return Object.hasOwn(moves, key) ? moves[key] : null;
}

/** The nearest of `spots` that lies in the direction of an arrow key, as an index; -1 when there is none. */
export function neighbour(spots, from, key) {
  const axis = key === 'ArrowLeft' || key === 'ArrowRight' ? 'x' : 'y';
  const sign = key === 'ArrowLeft' || key === 'ArrowUp' ? -1 : 1;
  let best = -1;
  let least = Infinity;
  spots.forEach((spot, n) => {
    const along = sign * (spot[axis] - from[axis]);
    const across = Math.abs(axis === 'x' ? spot.y - from.y : spot.x - from.x);
    if (along > 1 && along + 3 * across < least) [best, least] = [n, along + 3 * across];
  });
  return best;
}

/** What a line of the trace is warned of, as sentences. */
export const warningsAt = (trace, step) =>
  trace.warnings
    .filter((warning) => warning.line === step.line && warning.line !== null && step.code.includes(warning.code))
    .map((warning) => String(warning.message).slice(0, 400));

// ---------- wiring

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

class Player {
  constructor(trace, { id, title, host, signal }) {
    Object.assign(this, {
      trace,
      id,
      host,
      signal,
      state: { ...START, at: {} },
      plan: planOf(trace),
      timer: 0,
      heights: new Map(),
      cursor: null,
      game: startPredict(),
    });
    this.places = placesOf(this.plan);
    this.part = skeleton(trace, id, title);
    fill(this.part, trace, this.places);
    this.part.sizes.hidden = !hasSizes(trace);
    this.listen();
  }

  get step() {
    return this.trace.steps[this.state.step];
  }
  get phase() {
    return this.plan[this.state.step][this.state.phase];
  }
  get here() {
    return this.places.starts[this.state.step] + this.state.phase;
  }

  /** Whether the reader is still to say the shape of this step. */
  get hidden() {
    return hides(this.game, this.trace, this.state.step);
  }

  go(place) {
    Object.assign(this.state, placeAt(this.places, place));
    this.cursor = null;
    this.show();
  }

  open({ step, phase }) {
    const at = clamp(step, 0, this.plan.length - 1);
    this.go(this.places.starts[at] + clamp(phase, 0, this.plan[at].length - 1));
  }

  play(on) {
    this.state.playing = on;
    clearTimeout(this.timer);
    const { play } = this.part.controls;
    const label = `${on ? 'Pause' : 'Play'} (space)`;
    play.replaceChildren(icon(on ? 'pause' : 'play'));
    play.title = label;
    play.setAttribute('aria-label', label);
    if (on && this.here >= this.places.total - 1) this.go(0);
    if (on) this.timer = setTimeout(() => this.tick(), PAUSE / this.state.speed);
  }

  tick() {
    if (!this.host.isConnected) {
      this.play(false);
      return;
    }
    this.go(this.here + 1);
    if (this.here >= this.places.total - 1 || this.hidden) this.play(false);
    else this.timer = setTimeout(() => this.tick(), PAUSE / this.state.speed);
  }

  listen() {
    const { part } = this;
    const on = (node, name, run) => node.addEventListener(name, run, { signal: this.signal });
    const tools = {
      predict: () => this.predict(!this.game.on),
      copy: () => this.copy(),
      save: () =>
        saveFile(
          `${this.id}-${this.state.step + 1}.svg`,
          'image/svg+xml',
          svgText(part.drawing.root, plain(this.words())),
        ),
      present: () => this.present(!this.host.dataset.present),
    };
    for (const [name, tool] of Object.entries(part.tools)) on(tool, 'click', tools[name]);
    on(part.sizes, 'toggle', () => {
      if (part.sizes.open && part.sizes.children.length === 1) {
        part.sizes.append(sizesView(this.trace, this.signal));
      }
    });
    on(document, 'fullscreenchange', () => {
      if (!document.fullscreenElement) this.present(false);
    });
    on(window, 'resize', () => this.zoom());
    const go = {
      first: () => 0,
      back: () => this.here - 1,
      next: () => this.here + 1,
      last: () => this.places.total - 1,
    };
    for (const [name, control] of Object.entries(part.controls)) {
      on(control, 'click', () => (name === 'play' ? this.play(!this.state.playing) : this.go(go[name]())));
    }
    on(part.scrub, 'input', () => this.go(part.scrub.value - 1));
    on(part.speed, 'change', () => {
      this.state.speed = Number(part.speed.value);
      if (this.state.playing) this.play(true);
      this.host.style.setProperty('--pace', String(1 / Math.max(1, this.state.speed)));
    });
    on(part.steps, 'click', (event) => {
      const at = event.target.closest('[data-step]');
      if (at) this.go(this.places.starts[Number(at.dataset.step)]);
    });
    on(part.picks, 'change', (event) => this.choose(event.target.dataset.pick, Number(event.target.value)));
    on(part.details, 'toggle', () => this.showTables());
    on(part.root, 'keydown', (event) => this.key(event));
    const cellOf = (event) => {
      const node = event.target.closest('.cell');
      return node && part.drawing.markOf(node);
    };
    on(part.drawing.root, 'click', (event) => {
      const mark = cellOf(event);
      if (mark) this.touch(mark);
    });
    on(part.drawing.root, 'pointerover', (event) => {
      const mark = cellOf(event);
      this.read(mark || this.cursor);
    });
    on(part.drawing.root, 'pointerleave', () => this.read(this.cursor));
    on(part.stage, 'blur', () => {
      this.cursor = null;
      part.drawing.point(null);
    });
    on(window, 'hashchange', () => this.follow(location.hash));
    on(document, 'click', (event) => {
      const link = event.target.closest && event.target.closest('a[href]');
      const hash = link && link.getAttribute('href');
      if (hash && hash.startsWith('#') && hash === location.hash) this.follow(hash);
    });
  }

  follow(hash) {
    const place = readLink(hash, this.id);
    if (!place || !this.host.isConnected) return;
    this.play(false);
    this.open(place);
    this.host.scrollIntoView({ block: 'start' });
  }

  choose(key, value) {
    if (key === 'i' || key === 'j') this.state[key] = value;
    else this.state.at[key.slice(3)] = value;
    this.show();
  }

  touch(mark) {
    const picks = mark.ref.pick;
    if (picks) {
      Object.assign(this.state, picks);
      const phases = this.plan[this.state.step];
      const first = phases.findIndex((phase) => phase.picks);
      if (!this.phase.picks && first >= 0) this.state.phase = first;
      this.show();
    }
    this.read(mark);
  }

  read(mark) {
    write(this.part.reading, mark && mark.ref ? reading(this.trace, this.step, mark.ref, this.state.at) : []);
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const target = event.target;
    const tag = target.tagName;
    if (
      tag === 'SELECT' ||
      tag === 'INPUT' ||
      (target === this.part.tables && event.key.startsWith('Arrow'))
    ) {
      return;
    }
    if (event.key === 'Escape' && this.host.dataset.present && !this.cursor) this.present(false);
    if (target === this.part.stage && !this.hidden && this.walk(event)) return;
    if (event.key === ' ' && tag !== 'BUTTON' && tag !== 'SUMMARY') {
      event.preventDefault();
      this.play(!this.state.playing);
      return;
    }
    const place = keyMove(event.key, this.state, this.places);
    if (place === null) return;
    event.preventDefault();
    this.go(place);
  }

  /** Enter puts a cursor on the cells, arrows move it, Escape takes it away; its cell is read out and may be picked. */
  walk(event) {
    const cells = this.scene.marks.filter((mark) => mark.type === 'cell' && mark.ref);
    if (!cells.length || (event.key !== 'Enter' && !this.cursor)) return false;
    if (event.key === 'Enter') {
      if (this.cursor) this.touch(this.cursor);
      else {
        this.cursor =
          cells.find(
            (mark) => mark.ref.pick && mark.ref.pick.i === rowOf(this.phase, this.state) && mark.ref.pick.j === this.state.j,
          ) || cells[0];
      }
    } else if (event.key === 'Escape') this.cursor = null;
    else if (event.key.startsWith('Arrow')) {
      this.cursor = cells[neighbour(cells, this.cursor, event.key)] || this.cursor;
    } else return false;
    event.preventDefault();
    this.part.drawing.point(this.cursor);
    this.read(this.cursor);
    return true;
  }

  predict(on) {
    this.game = { ...startPredict(), on };
    this.part.tools.predict.setAttribute('aria-pressed', String(on));
    this.play(false);
    this.showList();
    this.show();
  }

  answered(first) {
    const { game } = this;
    game.known.add(this.state.step);
    game.asked++;
    if (first) game.right++;
    this.showList();
    this.show();
    this.part.stage.focus();
  }

  async copy() {
    const text = markdown(this.trace);
    const done = await copyText(text);
    if (!done) saveFile(`${this.id}.md`, 'text/markdown', text);
    write(
      this.part.reading,
      say`${done ? 'The table is on the clipboard, as Markdown.' : 'The table is saved as a Markdown file.'}`,
    );
  }

  present(on) {
    if (on === Boolean(this.host.dataset.present)) return;
    if (on) this.host.dataset.present = 'yes';
    else delete this.host.dataset.present;
    this.part.tools.present.setAttribute('aria-pressed', String(on));
    if (on && navigator.userActivation?.isActive) this.host.requestFullscreen?.().catch(() => {});
    if (!on && document.fullscreenElement === this.host) document.exitFullscreen();
    this.zoom();
    this.part.stage.focus();
  }

  /** One player fills the screen, as large as its figure allows. */
  zoom() {
    const scale = this.host.dataset.present ? clamp(Math.min(innerWidth / 1180, innerHeight / 860), 1, 3) : 1;
    this.part.root.parentNode.style.zoom = scale;
  }

  /** The sentence of this phase, or the question. */
  words() {
    if (!this.hidden) return caption(this.trace, this.plan, this.state);
    return say`Predict the shape of ${code(this.step.variable)} before you see it.`;
  }

  show() {
    const { part, step, state, trace, hidden } = this;
    part.root.classList.toggle('faulty', step.kind === 'error');
    if (this.marked !== undefined)
      part.steps.children[this.marked].firstChild.removeAttribute('aria-current');
    part.steps.children[state.step].firstChild.setAttribute('aria-current', 'step');
    this.marked = state.step;
    this.showHeadline();
    part.warning.textContent = hidden ? '' : warningsAt(trace, step).join(' ');
    this.draw();
    this.showQuestion();
    write(part.caption, this.words());
    part.reading.replaceChildren();
    this.showPicks();
    this.showTables();
    part.scrub.value = this.here + 1;
    part.controls.first.disabled = part.controls.back.disabled = this.here === 0;
    part.controls.next.disabled = part.controls.last.disabled = this.here === this.places.total - 1;
  }

  showHeadline() {
    const { part, step, state, trace, hidden, game } = this;
    const [output] = step.outputs;
    const where = `step ${state.step + 1} of ${this.plan.length} · phase ${state.phase + 1} of ${this.plan[state.step].length}`;
    const notes = [
      where,
      KINDS[step.kind] || step.kind,
      step.kind === 'error' ? '' : step.note,
      game.asked ? score(game) : '',
    ];
    const shape = hidden
      ? hiddenShape(step)
      : output
        ? say`${namedShape(trace, output)} = ${sizedShape(output)}`
        : [];
    part.headline.replaceChildren(
      element('span', { class: 'line' }, step.code || step.variable),
      write(element('span', { class: 'shape' }), shape),
      element('span', { class: 'kind' }, notes.filter(Boolean).join(' · ')),
    );
    part.scrub.setAttribute('aria-valuetext', `${step.variable}, ${where}`);
  }

  /** Shapes that are still to be predicted stand as question marks in the list too. */
  showList() {
    this.trace.steps.forEach((step, n) => {
      const shape = this.part.steps.children[n].querySelector('.shape');
      if (asks(step)) {
        write(
          shape,
          hides(this.game, this.trace, n) ? hiddenShape(step) : namedShape(this.trace, step.outputs[0]),
        );
      }
    });
  }

  showQuestion() {
    const { part, hidden, step } = this;
    part.drawing.root.style.display = hidden ? 'none' : '';
    if (part.question && part.question.step === step && hidden) return;
    if (part.question) part.question.form.remove();
    part.question = null;
    if (!hidden) return;
    part.question = {
      step,
      form: questionView(this.trace, step, this.signal, (first) => this.answered(first)),
    };
    part.stage.append(part.question.form);
  }

  /** Draw at the width that was last observed: asking for it now would cost a layout. */
  draw() {
    const { width } = this;
    if (width < 40) return;
    this.scene = sceneOf(this.trace, this.plan, this.state, width);
    this.part.drawing.patch(this.scene);
    this.part.drawing.point(this.cursor);
    this.settle(width);
  }

  /** The stage is as high as its highest scene, so that the controls under it stay where they are; where there is room
   * the scenes of a step stand in its middle. */
  settle(width) {
    const steps = this.places.total <= 80 ? range(this.plan.length) : [this.state.step];
    const key = `${width}:${steps.length > 1 ? 'all' : this.state.step}`;
    if (!this.heights.has(key)) {
      const boxOf = (step) => {
        const scenes = range(this.plan[step].length).map((phase) =>
          sceneOf(this.trace, this.plan, { ...this.state, step, phase }, width),
        );
        return ['right', 'height'].map((side) => Math.max(...scenes.map((scene) => scene[side])));
      };
      this.heights.set(key, new Map(steps.map((step) => [step, boxOf(step)])));
    }
    const boxes = this.heights.get(key);
    const [right, height] = boxes.get(this.state.step);
    const most = Math.max(...[...boxes.values()].map((box) => box[1]));
    this.part.stage.style.minHeight = `${most}px`;
    this.part.drawing.root.style.translate = this.scene.narrow
      ? ''
      : `${Math.max(0, (width - right - 20) >> 1)}px ${(most - height) >> 1}px`;
  }

  showPicks() {
    const { trace, state, phase } = this;
    const focused = this.host.shadowRoot && this.host.shadowRoot.activeElement;
    const held = focused && focused.dataset.pick;
    const items = [];
    if (this.hidden) {
      this.part.picks.replaceChildren();
      return;
    }
    if (phase.picks && phase.picks.i > 1) {
      items.push(picker('i', say`row i`, phase.picks.i, rowOf(phase, state)));
    }
    if (phase.picks && phase.picks.j > 1) {
      items.push(picker('j', say`column j`, phase.picks.j, state.j));
    }
    for (const { label, size } of choices(this.step, phase.kept)) {
      items.push(
        picker(
          `at:${label}`,
          say`${dimName(trace, label)} in front`,
          size,
          state.at[label] ?? (phase.other === label ? 1 : 0),
        ),
      );
    }
    this.part.picks.replaceChildren(...items);
    if (held) {
      for (const select of this.part.picks.querySelectorAll('select')) {
        if (select.dataset.pick === held) select.focus();
      }
    }
  }

  showTables() {
    if (!this.part.details.open) return;
    this.part.tables.replaceChildren(
      ...[...this.step.inputs, ...(this.hidden ? [] : this.step.outputs)].flatMap((tensor) =>
        tablesOf(this.trace, tensor),
      ),
    );
  }
}

/** Mount a player for a trace (the JSON of Trace.to_dict()) in `host`. Returns the clean-up.
 * @param {{ trace: object, host: Element, id: string, title?: string }} options */
export function render({ trace: json, host, id, title }) {
  const ending = new AbortController();
  const { signal } = ending;
  const root = host.shadowRoot || host.attachShadow({ mode: 'open' });
  followTheme(host, signal);
  const frame = element('div', { class: 'frame' });
  root.replaceChildren(element('style', {}, STYLE), frame);
  try {
    const trace = readTrace(json);
    const player = new Player(trace, { id, title: title || trace.title, host, signal });
    frame.append(player.part.root);
    player.width = Math.floor(player.part.stage.clientWidth);
    const sizes = new ResizeObserver(() => {
      player.width = Math.floor(player.part.stage.clientWidth);
      player.draw();
    });
    sizes.observe(player.part.stage);
    signal.addEventListener('abort', () => {
      sizes.disconnect();
      player.play(false);
      player.present(false);
    });
    player.show();
    const place = readLink(location.hash, id);
    if (place) player.follow(location.hash);
  } catch (error) {
    frame.append(
      element(
        'p',
        { class: 'message', role: 'alert' },
        error instanceof Error ? error.message : 'This trace cannot be played.',
      ),
    );
  }
  return () => {
    ending.abort();
    root.replaceChildren();
  };
}

export default { render };
