/* What stands around the drawing: the list of steps, the sentence, the controls, the numbers as tables. */

import { drawing } from './drawing.js';
import { button, clamp, element, range, say, shape, write } from './kit.js';
import { rowOf } from './phases.js';
import { choices, dimName, dimSize, namedShape, sizedShape } from './tensor.js';
import { warningsAt } from './warned.js';

const SPEEDS = [
  ['0.5', '½×'],
  ['1', '1×'],
  ['2', '2×'],
  ['4', '4×'],
];
const KINDS = {
  view: 'view, no copy',
  copy: 'copy',
  'in-place': 'in place',
  same: 'the same tensor',
  new: 'new memory',
  input: 'input',
  error: 'error',
  fold: 'folded',
};
const ICONS = {
  first: 'M2 2h2v12H2zM14 2v12L5 8z',
  back: 'M12 2v12L3 8z',
  play: 'M3 1.5v13L14 8z',
  pause: 'M3 2h3.5v12H3zM9.5 2H13v12H9.5z',
  next: 'M4 2v12l9-6z',
  last: 'M12 2h2v12h-2zM2 2v12l9-6z',
};
const CONTROLS = [
  ['first', 'First (Home)'],
  ['back', 'Back (left arrow)'],
  ['play', 'Play (space)'],
  ['next', 'Next (right arrow)'],
  ['last', 'Last (End)'],
];

export const icon = (name) =>
  shape(
    'svg',
    { width: 16, height: 16, viewBox: '0 0 16 16', 'aria-hidden': 'true' },
    shape('path', { d: ICONS[name], fill: 'currentColor' }),
  );

export function skeleton(id, title) {
  const part = {
    title: element('h3', { id: `${id}-title`, class: 'title' }, title),
    deck: element('p', { class: 'deck' }),
    steps: element('ol', { class: 'steps', 'aria-label': 'Steps of the trace' }),
    headline: element('div', { class: 'headline' }),
    warning: element('p', { class: 'warning' }),
    caption: element('p', { class: 'caption' }),
    reading: element('p', { class: 'reading' }),
    stage: element('div', {
      class: 'stage',
      tabindex: 0,
      role: 'group',
      'aria-label': 'Figure. Arrow keys step through it, Enter walks over its cells.',
    }),
    picks: element('div', { class: 'picks' }),
    scrub: element('input', { type: 'range', min: 1, 'aria-label': 'Position in the trace' }),
    ticks: element('div', { class: 'ticks', 'aria-hidden': 'true' }),
    speed: element(
      'select',
      {},
      ...SPEEDS.map(([value, text]) => element('option', { value }, text)),
    ),
    tables: element('div', {
      class: 'scroll',
      tabindex: 0,
      role: 'region',
      'aria-label': 'Numbers of this step',
    }),
    drawing: drawing(),
    kept: {}, // pickers by name and size
  };
  part.controls = Object.fromEntries(
    CONTROLS.map(([name, label]) => [
      name,
      button({ 'aria-label': label, title: label }, icon(name)),
    ]),
  );
  part.details = element(
    'details',
    {},
    element('summary', {}, 'The numbers of this step as tables'),
    part.tables,
  );
  const tool = (text) => button({ class: 'tool' }, text);
  part.tools = {
    predict: tool('Predict shapes'),
    copy: tool('Copy table'),
    save: tool('Save SVG'),
    present: tool('Present'),
  };
  part.sizes = element('details', {}, element('summary', {}, 'The same code at your sizes'));
  part.stage.append(part.drawing.root);
  part.speed.value = '1';
  const words = element('div', { class: 'words', 'aria-live': 'polite' }, part.caption, part.reading);
  const bar = element(
    'div',
    { class: 'bar', role: 'group', 'aria-label': 'Playback' },
    element('span', { class: 'keys' }, ...Object.values(part.controls)),
    element(
      'div',
      { class: 'rest' },
      element('div', { class: 'scrub' }, part.ticks, part.scrub),
      element('label', {}, 'speed', part.speed),
    ),
    element('div', { class: 'tools' }, ...Object.values(part.tools)),
  );
  part.root = element(
    'section',
    { class: 'player', 'aria-labelledby': `${id}-title` },
    element('header', {}, part.title, part.deck),
    element(
      'div',
      { class: 'body' },
      part.headline,
      part.warning,
      part.stage,
      words,
      part.picks,
      bar,
      part.details,
      part.sizes,
    ),
    part.steps, // beside the rest or under it: with the tab key it comes last
  );
  return part;
}

/** What depends on which rows are open: the sizes of the trace, the length of the scrubber and its ticks. */
export function fill(part, trace, { starts, total }) {
  const sizes = Object.entries(trace.sizes);
  const warned = trace.steps.findIndex((step) => warningsAt(trace, step).length) + 1;
  write(
    part.deck,
    [
      ...sizes.flatMap(([label, size], n) => say`${n ? ' · ' : ''}${dimSize(trace, label, size)}`),
      ...(warned ? say` · warning at step ${String(warned)}` : []),
    ],
  );
  part.scrub.max = total;
  const ticks = starts.length <= 60 ? starts : [];
  part.ticks.replaceChildren(
    ...ticks.map((start) => element('i', { style: `left:${(100 * start) / Math.max(1, total - 1)}%` })),
  );
}

/** The line over the figure: code, shape, and where in the trace this is. */
export function writeHeadline({ part, row, step, state, trace, plan, hidden, game }) {
  const [output] = step.outputs;
  const steps = row.name.includes('–') ? 'steps' : 'step';
  const where = `${steps} ${row.name} of ${trace.steps.length} · phase ${state.phase + 1} of ${plan[state.step].length}`;
  const note = ['error', 'fold'].includes(step.kind) ? row.holds : step.note;
  const notes = [where, KINDS[step.kind] || step.kind, note, game?.score];
  const known = output ? say`${namedShape(trace, output)} = ${sizedShape(output)}` : [];
  part.headline.replaceChildren(
    element('span', { class: 'line' }, step.code || step.variable),
    write(element('span', { class: 'shape' }), hidden ? game.shape(step) : known),
    element('span', { class: 'kind' }, notes.filter(Boolean).join(' · ')),
  );
  part.scrub.setAttribute('aria-valuetext', `${step.variable}, ${where}`);
}

function picker(key, parts, size) {
  const select = element(
    'select',
    { 'data-pick': key },
    ...range(Math.min(size, 512)).map((n) => element('option', { value: n }, String(n))),
  );
  return element('label', {}, write(element('span'), parts), select);
}

/** The choices of this phase: row, column, the sheet in front. A choice that stays keeps its element, and so its focus. */
export function pickers({ part, trace, state, phase, step, hidden }) {
  const { i = 0, j = 0 } = phase.picks || {};
  const sheets = choices(step, phase.kept).map(({ label, size }) => {
    const at = state.at[label] ?? (phase.other === label ? 1 : 0);
    return [`at:${label}`, say`${dimName(trace, label)} in front`, size, at];
  });
  const wanted = [['i', say`row i`, i, rowOf(phase, state)], ['j', say`column j`, j, state.j], ...sheets];
  const items = wanted
    .filter(([, , size]) => size > 1 && !hidden)
    .map(([key, parts, size, value]) => {
      const item = (part.kept[`${key} ${size}`] ??= picker(key, parts, size));
      item.lastChild.value = String(clamp(value, 0, size - 1));
      return item;
    });
  const now = [...part.picks.children];
  if (items.length !== now.length || items.some((item, n) => item !== now[n])) part.picks.replaceChildren(...items);
}
