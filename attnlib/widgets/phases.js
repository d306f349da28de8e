/* From a row to what is played: every row has phases, a phase is one sentence and one scene, and both are pure functions
   of trace and state. Also what a single number says of itself. */

import { exact, number, plain, range, say } from './kit.js';
import { mapPhases } from './maps.js';
import { productOf } from './operands.js';
import { productPhases, productSum } from './products.js';
import { Scene } from './scene.js';
import { softmax } from './softmax.js';
import { address, axisRole, named, rank, valueAt } from './tensor.js';
import { viewPhases } from './views.js';
import { dashed, warningsAt } from './warned.js';

/** @typedef {{ step: number, phase: number, i: number, j: number, at: Object<string, number> }} State */
/** @typedef {{ say: Function, draw: Function, picks?: { i?: number, j?: number }, row?: number, other?: string }} Phase */

/** @returns {Phase[]} */
export function phasesOf(step, trace) {
  const phases =
    productPhases(step, trace) || (step.kind !== 'error' && viewPhases(step, trace)) || mapPhases(step, trace);
  return warningsAt(trace, step).length ? phases.map((phase) => dashed(phase, step)) : phases;
}

/** The indices of the leading axes as a phase sees them: the reader's choice, or the other sheet where the phase is about that. */
export function sheetsSeen(phase, state) {
  return phase.other && state.at[phase.other] === undefined ? { ...state.at, [phase.other]: 1 } : state.at;
}

/** The state as a phase sees it: until the reader picks a row, the phase says which. */
const seenBy = (phase, state) => ({ ...state, i: rowOf(phase, state), at: sheetsSeen(phase, state) });
export const rowOf = (phase, state) => state.i ?? phase.row ?? 2;

/** The caption, as parts. */
export function caption(trace, plan, state) {
  const phase = plan[state.step][state.phase];
  return phase.say(seenBy(phase, state), trace);
}

/** Where a mark ends on the right, near enough. */
function endOf({ type, x, w = 0, n, step, upright, kind, parts }) {
  if (type === 'axis') return x + (upright ? 26 : n * step);
  if (type !== 'text') return x + w;
  return /end/.test(kind) ? x : x + (plain(parts).length * 7) / (/middle/.test(kind) ? 2 : 1);
}

/** The marks of one phase, with the size they take. */
export function sceneOf(trace, plan, state, width) {
  const phase = plan[state.step][state.phase];
  const seen = seenBy(phase, state);
  const scene = new Scene(trace, seen.at, width);
  phase.draw(scene, seen);
  scene.sayTokens();
  const right = Math.max(0, ...scene.marks.filter((mark) => mark.x !== undefined).map(endOf));
  const { marks, height, narrow } = scene;
  return { marks, width, height, right, narrow };
}

// ---------- places: phases counted through the whole trace

export function placesOf(plan) {
  let next = 0;
  const starts = plan.map((phases) => (next += phases.length) - phases.length);
  return { starts, total: next };
}
export function placeAt({ starts, total }, place) {
  const at = Math.max(0, Math.min(total - 1, place));
  const step = starts.findLastIndex((start) => start <= at);
  return { step, phase: at - starts[step] };
}

// ---------- one number

function madeOf(step, tensor, index, at) {
  if (!step.outputs.includes(tensor)) return null;
  const [i, j] = rank(tensor) > 1 ? index.slice(-2) : [0, index.at(-1)];
  const lead = Object.fromEntries(tensor.dims.slice(0, -2).map((label, axis) => [label, index[axis]]));
  if (productOf(step)) return productSum(step, { ...at, ...lead }, i, j);
  const [input] = step.inputs;
  if (!input || !input.values) return null;
  if (step.op === 'scale_scores' && typeof step.params.head_size === 'number') {
    return `${number(valueAt(input, index))} ÷ √${step.params.head_size}`;
  }
  if (step.op === 'softmax' || step.op === 'attention_weights') {
    const row = softmax(range(tensor.shape.at(-1)).map((n) => valueAt(input, [...index.slice(0, -1), n])));
    return `exp(${number(valueAt(input, index))} − ${number(row.top)}) ÷ ${number(row.sum)}`;
  }
  return null;
}

/** "scores[0, 2, 1] = 1.20812 = 1.89 × 0.51 + …" as parts. */
export function reading(trace, step, { tensor, index }, at) {
  const value = valueAt(tensor, index);
  const made = madeOf(step, tensor, index, at);
  const where = tensor.dims.map((label, axis) => [
    axisRole(trace, label)
      ? { text: `${label} ${index[axis]}`, kind: 'dim', role: axisRole(trace, label) }
      : { text: String(index[axis]), kind: '' },
  ]);
  const place = where.flatMap((part, n) => [...(n ? [{ text: ', ', kind: '' }] : []), ...part]);
  const end = made ? ` = ${made}` : `, at address ${address(tensor, index)} of its memory`;
  return value === null
    ? say`${named(tensor)} at ${place}`
    : say`${named(tensor)} at ${place}: ${exact(value)}${end}`;
}
