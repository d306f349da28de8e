/* Which rows of a trace are listed and played: a layer that repeats is folded, and what runs inside a stage opens on
   demand. A row is { step, name, depth, kids, open }; kids are made when the row is first opened. */

import { range } from './kit.js';
import { phasesOf } from './phases.js';

const LEAST = 3; // steps a layer must have to be worth a fold

/** "blocks.3.attn" stands in layer 3 of "blocks"; null where no module is numbered. */
function layerOf({ module }) {
  const found = /^(?:(.*?)\.)?(\d+)(?:\.|$)/.exec(module);
  return found && { of: found[1] || '', nth: Number(found[2]) };
}

/** What a layer does, but for the numbers in it. */
const likeness = (steps) =>
  steps.map((step) => [step.code.replace(/\d+/g, ''), step.op, step.outputs.map(({ shape }) => shape)].join()).join();

/** Runs of consecutive layers that do the same: [{ from, length, count, of, nth }], steps counted from 0. */
export function repeats(steps) {
  const starts = [];
  steps.forEach((step, n) => {
    const layer = layerOf(step);
    const last = starts.at(-1);
    if (layer && !(last && last.of === layer.of && last.nth === layer.nth)) starts.push({ ...layer, from: n });
  });
  const found = [];
  for (let n = 0; n + 1 < starts.length; ) {
    const { from, of, nth } = starts[n];
    const length = starts[n + 1].from - from;
    const alike = (at) => likeness(steps.slice(from + at * length, from + (at + 1) * length));
    let count = 1;
    while (
      starts[n + count] &&
      starts[n + count].of === of &&
      starts[n + count].nth === nth + count &&
      starts[n + count].from === from + count * length &&
      alike(count) === alike(0)
    ) {
      count++;
    }
    if (count > 1 && length >= LEAST) found.push({ from, length, count, of, nth });
    n += count;
  }
  return found;
}

/** A row that stands for many: what goes into the first of them and what comes out of the last. */
function folded(steps, title, params) {
  const [first, last] = [steps[0], steps.at(-1)];
  return {
    ...{ file: '', line: null, code: title, variable: title, op: 'layers', kind: 'fold', note: '', module: '' },
    index: first.index,
    last: last.index,
    params,
    inputs: first.inputs.slice(0, 1),
    outputs: last.outputs,
    steps: [],
  };
}

const rowOfStep = (step, depth, above = '') => ({
  step,
  depth,
  name: `${above}${step.index}`,
  inside: above !== '', // it runs inside a stage: its number is not one of the trace's
  open: false,
  kids: null,
  holds: step.steps.length ? `${step.steps.length} ${step.steps.length > 1 ? 'operations' : 'operation'} inside` : '',
  make: () => step.steps.map((child) => rowOfStep(child, depth + 1, `${above}${step.index}.`)),
});

const layerTitle = (of, nth) => (of ? `${of}.${nth}` : `layer ${nth}`);

function rowOfLayer(steps, title, depth) {
  const step = folded(steps, title, { length: steps.length, count: 1 });
  return {
    ...{ step, depth, open: false, kids: null, holds: `${steps.length} steps` },
    name: `${step.index}–${step.last}`,
    make: () => steps.map((one) => rowOfStep(one, depth + 1)),
  };
}

/** The layers after the first, as one row. */
function rowOfRest(steps, { from, length, count, of, nth }) {
  const layer = (n) => steps.slice(from + n * length, from + (n + 1) * length);
  const rest = range(count - 1).map((n) => n + 1);
  if (rest.length === 1) return rowOfLayer(layer(1), layerTitle(of, nth + 1), 0);
  const title = `${layerTitle(of, nth + 1)} … ${layerTitle(of, nth + count - 1)}`;
  const step = folded(rest.flatMap(layer), title, { length, count: rest.length });
  return {
    ...{ step, depth: 0, open: false, kids: null, holds: `${rest.length} layers of ${length} steps` },
    name: `${step.index}–${step.last}`,
    make: () => rest.map((n) => rowOfLayer(layer(n), layerTitle(of, nth + n), 1)),
  };
}

/** The rows at the top: every step, but of equal layers only the first. */
export function rowsOf(trace) {
  const { steps } = trace;
  const rows = [];
  let next = 0;
  for (const run of repeats(steps)) {
    const rest = run.from + run.length;
    rows.push(...steps.slice(next, rest).map((step) => rowOfStep(step, 0)), rowOfRest(steps, run));
    next = run.from + run.count * run.length;
  }
  return [...rows, ...steps.slice(next).map((step) => rowOfStep(step, 0))];
}

export const kidsOf = (row) => (row.kids ??= row.make());

/** The rows that are to be seen, in the order in which they are played. */
export const visible = (rows) => rows.flatMap((row) => [row, ...(row.open ? visible(kidsOf(row)) : [])]);

/** Open what hides step `index` of the trace. */
export function reveal(rows, index) {
  const fold = rows.find(({ step }) => step.kind === 'fold' && step.index <= index && index <= step.last);
  if (!fold) return;
  fold.open = true;
  reveal(kidsOf(fold), index);
}

/** The phases of the rows, each made once. */
export const planOfRows = (rows, trace) => rows.map((row) => (row.phases ??= phasesOf(row.step, trace)));
