/* The player: shows any trace step by step, phase by phase, as labelled grids that change into one another.
   State: { step, phase, i, j, at, playing, speed }, which rows are open, and, while shapes are predicted, the game; all
   that is on the screen follows from these and the trace. `step` counts the rows that are open. */

import { Figure } from './figure.js';
import { clamp, element, say, write } from './kit.js';
import { withTools } from './later.js';
import { wordsFor } from './links.js';
import { keyMove, stepIn } from './moves.js';
import { fill, icon, pickers, skeleton, writeHeadline } from './panel.js';
import { caption, placeAt, placesOf, reading } from './phases.js';
import STYLE from './player.css';
import { planOfRows, reveal, rowsOf, visible } from './rows.js';
import { Steps } from './steps.js';
import { surface } from './surface.js';
import { readTrace } from './trace.js';
import { warningsAt } from './warned.js';
import { listen } from './wiring.js';

// ---------- defaults

const START = { step: 0, phase: 0, i: undefined, j: 1, at: {}, playing: false, speed: 1 };
const PAUSE = 2600; // milliseconds a phase stands at speed 1
const WHOLE = { ArrowRight: 'PageDown', ArrowLeft: 'PageUp' }; // of what is hidden there are no phases to go through
const HURRY = 300; // who goes on sooner than after so many milliseconds sees no motion

// ---------- view and wiring

class Player {
  constructor(trace, { id, title, host, signal }) {
    Object.assign(this, { trace, id, host, signal, timer: 0, went: 0, game: null });
    this.state = { ...START, at: {} };
    this.tree = rowsOf(trace);
    this.part = skeleton(id, title);
    this.figure = new Figure(this.part, trace);
    this.steps = new Steps(this.part.steps, trace, signal, {
      go: (row) => this.go(this.places.starts[this.rows.indexOf(row)]),
      fold: (row) => this.fold(row),
    });
    this.countable();
    this.list();
    listen(this);
  }

  get row() {
    return this.rows[this.state.step];
  }
  get step() {
    return this.row.step;
  }
  get phase() {
    return this.plan[this.state.step][this.state.phase];
  }
  get here() {
    return this.places.starts[this.state.step] + this.state.phase;
  }

  /** Whether the reader is still to say the shape of this step. */
  get hidden() {
    return Boolean(this.game?.hides(this.step));
  }

  /** List the rows that are open now. */
  list() {
    this.rows = visible(this.tree);
    this.plan = planOfRows(this.rows, this.trace);
    this.places = placesOf(this.plan);
    this.steps.fill(this.rows, this.game);
    fill(this.part, this.trace, this.places);
  }

  /** Open or close a row; the reader stays on the row that was played, or goes to the one that was closed over it. */
  fold(row) {
    const { row: held, state } = this;
    row.open = !row.open;
    this.list();
    const at = this.rows.indexOf(held);
    if (at < 0) state.phase = 0;
    state.step = at < 0 ? this.rows.indexOf(row) : at;
    this.show();
  }

  go(place) {
    const now = performance.now();
    this.part.stage.classList.toggle('hurried', now - this.went < HURRY);
    this.went = now;
    Object.assign(this.state, placeAt(this.places, place));
    this.figure.cursor = null;
    this.show();
  }

  /** Go to a step of the trace by its number, and open what hides it. */
  open({ step, phase }) {
    const index = clamp(step, 1, this.trace.steps.length);
    reveal(this.tree, index);
    this.list();
    const at = this.rows.findIndex((row) => !row.inside && row.step.kind !== 'fold' && row.step.index === index);
    this.go(this.places.starts[at] + clamp(phase, 0, this.plan[at].length - 1));
  }

  play(on) {
    this.state.playing = on;
    clearTimeout(this.timer);
    const { play } = this.part.controls;
    play.replaceChildren(icon(on ? 'pause' : 'play'));
    play.ariaLabel = play.title = `${on ? 'Pause' : 'Play'} (space)`;
    if (on && this.here >= this.places.total - 1) this.go(0);
    if (on) this.timer = setTimeout(() => this.tick(), PAUSE / this.state.speed);
  }

  tick() {
    if (!this.host.isConnected) {
      this.play(false);
      return;
    }
    this.move('ArrowRight');
    if (this.here >= this.places.total - 1 || this.hidden) this.play(false);
    else this.timer = setTimeout(() => this.tick(), PAUSE / this.state.speed);
  }

  follow() {
    const place = stepIn(wordsFor(this.id, location.hash) ?? '');
    if (!place || !this.host.isConnected) return;
    this.play(false);
    this.open(place);
    this.host.scrollIntoView({ block: 'start' });
  }

  setSpeed(speed) {
    this.state.speed = speed;
    if (this.state.playing) this.play(true);
    this.host.style.setProperty('--pace', String(1 / Math.max(1, speed)));
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
      const first = this.plan[this.state.step].findIndex((phase) => phase.picks);
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
    const { target, key } = event;
    const tag = target.tagName;
    if (tag === 'SELECT' || tag === 'INPUT' || (target === this.part.tables && key.startsWith('Arrow'))) return;
    if (target === this.part.stage && !this.hidden && this.walk(event)) return;
    if (key === ' ' && tag !== 'BUTTON' && tag !== 'SUMMARY') {
      event.preventDefault();
      this.play(!this.state.playing);
      return;
    }
    if (this.move(key)) event.preventDefault();
  }

  /** Go where a key leads, past a step that is still to be predicted; says whether it leads anywhere. */
  move(key) {
    const place = keyMove((this.hidden && WHOLE[key]) || key, this.state, this.places);
    if (place === null) return false;
    this.go(place);
    return true;
  }

  walk(event) {
    const { used, pick } = this.figure.walk(event.key, this.phase, this.state);
    if (!used) return false;
    event.preventDefault();
    if (pick) this.touch(pick);
    else this.read(this.figure.cursor);
    return true;
  }

  /** Use a tool by its name, as soon as the page has the code of the tools. */
  use(name) {
    withTools(
      (tools) => {
        if (!this.signal.aborted) tools.use(name, this);
      },
      () => write(this.part.reading, say`This did not come from where the page is kept. Press again to try again.`),
    );
  }

  /** Other sizes can be tried where names have one; not while shapes are predicted: they would all stand there. */
  countable() {
    this.part.sizes.hidden = Boolean(this.game) || !Object.keys(this.trace.sizes).length;
  }

  /** The sentence of this phase, or the question. */
  words() {
    return this.hidden ? this.game.words(this.step) : caption(this.trace, this.plan, this.state);
  }

  show() {
    const { part, step, trace, hidden } = this;
    part.root.classList.toggle('faulty', step.kind === 'error');
    this.steps.mark(this.row);
    writeHeadline(this);
    part.warning.textContent = hidden ? '' : step.kind === 'error' ? trace.error?.message : warningsAt(trace, step).join(' ');
    this.draw();
    this.game?.ask();
    write(part.caption, this.words());
    part.reading.replaceChildren();
    pickers(this);
    this.showTables();
    part.scrub.value = this.here + 1;
    // Not `disabled`: the key that ends the way would take the focus with it, and with it all others.
    const { first, back, next, last } = part.controls;
    first.ariaDisabled = back.ariaDisabled = this.here === 0;
    next.ariaDisabled = last.ariaDisabled = this.here === this.places.total - 1;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.steps.follow()); // asks for a layout: once a frame
  }

  draw() {
    this.figure.draw(this.plan, this.state);
  }

  showTables() {
    if (this.part.details.open) this.use('showTables');
  }
}

/** Mount a player for a trace (the JSON of Trace.to_dict()) in `host`, open at a step. Returns the clean-up, which gives
 * the step that was open.
 * @param {{ data: object, host: Element, id: string, title?: string, at?: { step: number, phase: number } }} options */
export function render({ data, host, id, title, at }) {
  const ending = new AbortController();
  const { signal } = ending;
  const frame = surface(host, STYLE, signal);
  let player = null;
  try {
    const trace = readTrace(data);
    player = new Player(trace, { id, title: title || trace.title, host, signal });
    frame.append(player.part.root);
    player.figure.measure();
    const sizes = new ResizeObserver(() => {
      if (player.figure.measure()) player.draw();
    });
    sizes.observe(player.part.stage);
    signal.addEventListener('abort', () => {
      sizes.disconnect();
      player.play(false);
    });
    player.show();
    if (at) player.open(at);
    else player.follow();
  } catch (error) {
    const says = error instanceof Error ? error.message : 'This trace cannot be played.';
    frame.append(element('p', { class: 'message', role: 'alert' }, says));
  }
  return () => {
    ending.abort();
    host.shadowRoot.replaceChildren();
    return player ? { step: player.step.index, phase: player.state.phase } : undefined;
  };
}
