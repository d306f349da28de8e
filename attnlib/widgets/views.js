/* Operations that move no number, and those that copy: transpose, view, heads split and merged, slices, contiguous.
   Drawn twice: as grids, and as the strip of memory they are read from. A cell keeps the key of its address, so it
   travels in the grid and stands still in memory; in a copy it travels in memory too. */

import { code, list, say } from './kit.js';
import { drawMemory } from './memory.js';
import { drawOpen, extent, isOpen, open } from './open.js';
import { headsOf, movesNothing, originOf } from './origins.js';
import { SHARES, address, count, dimName, dimSize, named, namedShape, rank, roleOf } from './tensor.js';

// ---------- the scene

const between = (scene) => (scene.narrow ? 58 : 110);

/** The cell size at which the widest tensor of the row fits. */
function sizeFor(scene, tensors) {
  const gaps = tensors.map((tensor) => extent(scene, tensor, scene.at, 0, 0));
  const units = tensors.map((tensor) => extent(scene, tensor, scene.at, 1, 1));
  const most = (side) => Math.max(...units.map((unit, n) => unit[side] - gaps[n][side]));
  const gap = (side) => Math.max(...gaps.map((size) => size[side]));
  const room = scene.width - scene.left - 50 - gap('width');
  return scene.fit(most('width'), most('height'), room, 400 - gap('height'), tensors);
}

/** Where the tensors of the row stand, the same in every phase: the input first, its outputs beside it where there is
 * room, else in its place. */
function layout(scene, step) {
  const tensors = [step.inputs[0], ...step.outputs];
  const { w, h } = sizeFor(scene, tensors);
  const boxes = tensors.map((tensor) => {
    const { over, inside } = open(scene, tensor, scene.at, w, h);
    const lead = over === null || inside ? 0 : scene.narrow ? 28 : 30;
    return { ...extent(scene, tensor, scene.at, w, h), lead, inside };
  });
  const top = scene.top + (boxes.some((box) => box.inside) ? 34 : 0);
  const line = boxes.reduce((sum, box) => sum + box.lead + box.width + between(scene), -between(scene));
  const both = scene.left + line <= scene.width - 14;
  const deep = Math.max(...boxes.map((box) => box.height));
  let [x, y] = [scene.left, top];
  const spots = boxes.map((box, n) => {
    if (n > 1 && x + box.lead + box.width > scene.width - 14) {
      [x, y] = [scene.left, y + deep + (scene.narrow ? 66 : 84)];
    }
    const spot = { x: x + (scene.narrow || n > 0 ? box.lead : 0), y };
    if (both || n > 0) x = spot.x + box.width + between(scene);
    return spot;
  });
  return { w, h, both, input: spots[0], outputs: spots.slice(1), bottom: y + deep + 14 };
}

/** @param stage 'before' | 'after' | 'walk' */
function drawMove(scene, step, stage) {
  const { at, trace } = scene;
  const [input] = step.inputs;
  const heads = headsOf(step, trace, at);
  const { w, h, both, bottom, ...spots } = layout(scene, step);
  const walk = stage === 'walk';
  if (stage === 'before' || both) {
    const first = drawOpen(scene, input, at, spots.input.x, spots.input.y, {
      w,
      h,
      id: stage === 'before' ? input.storage : 'ghost',
      ghost: stage !== 'before',
      fill: heads && stage === 'before' && ((index) => heads.fill(address(input, index))),
      kind: walk && ((index) => (index.at(-1) === 0 ? 'on' : '')),
      lit: walk ? { j: 0 } : {},
    });
    if (walk) scene.band('column', first, { j: 0 });
  }
  step.outputs.forEach((output, n) => {
    if (stage === 'before') return;
    const origin = originOf(step, output);
    const first = drawOpen(scene, output, at, spots.outputs[n].x, spots.outputs[n].y, {
      w,
      h,
      id: origin && n === 0 ? input.storage : output.storage,
      key: origin && ((index) => `${input.storage}@${origin(index)}`),
      fill: heads && origin && ((index) => heads.fill(origin(index))),
      kind: walk && ((index) => (index.at(-2) === 0 ? 'on' : 'off')),
    });
    if (walk) scene.band('row', first, { i: 0 });
  });
  drawMemory(scene, step, stage, bottom, heads);
}

// ---------- words


/** The call as it stands in the code, where it is short. */
function call(step) {
  const found = step.code.split('.').find((piece) => piece.startsWith(`${step.op}(`) && piece.length < 32);
  return code(found ? found.slice(0, found.indexOf(')') + 1) || step.op : step.op);
}

function memoryWords(trace, tensor) {
  const n = rank(tensor);
  if (n < 2) return say`${named(tensor)} lies in memory as one run of numbers.`;
  const along = [n - 1, n - 2].map(
    (axis) =>
      say`one step along ${dimName(trace, tensor.dims[axis])} is ${tensor.strides[axis]} ${tensor.strides[axis] === 1 ? 'number' : 'numbers'} further`,
  );
  return say`In the memory of ${named(tensor)}, ${list(along)}.`;
}

const MOVE_WORDS = {
  transpose: (step, trace) => {
    const { dim0, dim1 } = step.params;
    const { dims } = step.inputs[0];
    return say`${call(step)} swaps ${dimName(trace, dims[dim0] ?? '?')} and ${dimName(trace, dims[dim1] ?? '?')}: the axes and their strides change places, and nothing moves in memory.`;
  },
  permute: (step, trace) =>
    say`${call(step)} puts the axes in the order ${namedShape(trace, step.outputs[0])}; their strides go with them, and nothing moves in memory.`,
  split_heads: (step, trace) => {
    const heads = step.outputs[0].dims.at(-3);
    return say`Each row is cut where one head ends, then ${dimName(trace, heads)} steps before the rows: one sheet a head.`;
  },
  merge_heads: (step, trace) =>
    say`The heads of a token are laid side by side again: ${namedShape(trace, step.inputs[0])} becomes ${namedShape(trace, step.outputs[0])}.`,
  contiguous: (step) =>
    SHARES.includes(step.kind)
      ? say`${named(step.inputs[0])} already lies in the order of its axes: ${call(step)} gives it back as it is.`
      : say`${call(step)} is where numbers do move: it writes a second storage in the order of the new axes.`,
  getitem: (step, trace) =>
    say`The index picks a part, ${namedShape(trace, step.outputs[0])}: ${SHARES.includes(step.kind) ? 'a view into the same memory' : 'a copy'}.`,
};

/** How many numbers one step along an axis passes, in the order of the indices; 0 where there is no such axis. */
const run = ({ shape }, axis) => (axis < 0 ? 0 : count({ shape: shape.slice(axis + 1) }));

function moveWords(step, trace) {
  if (MOVE_WORDS[step.op]) return MOVE_WORDS[step.op](step, trace);
  const [input] = step.inputs;
  const outputs = step.outputs;
  const shares = SHARES.includes(step.kind);
  if (outputs.length > 1) {
    return say`${call(step)} cuts ${named(input)} into ${outputs.length} pieces, ${list(outputs.map((output) => [named(output)]))}: ${shares ? 'views into the same memory' : 'copies'}.`;
  }
  const [output] = outputs;
  const gone = input.dims.filter((label) => !output.dims.includes(label));
  const come = output.dims
    .map((label, axis) => ({ label, axis }))
    .filter(({ label }) => !input.dims.includes(label));
  const end = shares
    ? 'memory is as it was'
    : 'the numbers no longer lie in that order, so a second storage is written';
  const row = input.dims.findIndex((label) => roleOf(trace, label) === 'S');
  const [was, now] = [run(input, row), run(output, output.dims.indexOf(input.dims[row]))];
  const wide = output.shape.at(-1);
  if (was * now && was !== now && was !== wide && input.shape[row] > 1) {
    const is = wide < was ? 'a piece of a token' : 'pieces of several tokens';
    return say`${call(step)} keeps the order of the numbers: one step along ${dimName(trace, input.dims[row])} was ${was} numbers and is now ${now}, so a row of ${named(output)} is ${is}; ${end}.`;
  }
  if (gone.length === 1 && come.length > 1) {
    return say`${call(step)} cuts ${dimName(trace, gone[0])} into ${list(come.map(({ label, axis }) => dimSize(trace, label, output.shape[axis])))}; ${end}.`;
  }
  if (come.length === 1 && gone.length > 1) {
    return say`${call(step)} joins ${list(gone.map((label) => dimName(trace, label)))} into ${dimSize(trace, come[0].label, output.shape[come[0].axis])}; ${end}.`;
  }
  return say`${call(step)} reads the same numbers as ${namedShape(trace, output)}; ${end}.`;
}

/** @returns the phases of a row that moves or copies numbers without changing them */
export function viewPhases(step, trace) {
  if (!movesNothing(step)) return null;
  const [input] = step.inputs;
  const [output] = step.outputs;
  const n = rank(output);
  const open = [input, ...step.outputs]
    .filter((tensor) => rank(tensor) > 3)
    .every((tensor) => isOpen(trace, tensor));
  const kept = open ? 3 : 2;
  const phases = [
    {
      kept,
      say: () => memoryWords(trace, input),
      draw: (scene) => drawMove(scene, step, 'before'),
    },
    { kept, say: () => moveWords(step, trace), draw: (scene) => drawMove(scene, step, 'after') },
  ];
  const turns =
    step.op === 'transpose' &&
    step.kind === 'view' &&
    n > 1 &&
    n < 4 &&
    Math.min(step.params.dim0, step.params.dim1) === n - 2;
  if (turns && output.shape[n - 1] > 1 && step.outputs.length === 1) {
    phases.push({
      say: () =>
        say`Reading row 0 of ${named(output)} hops through the same storage by ${output.strides[n - 1]}: a view, not a copy.`,
      draw: (scene) => drawMove(scene, step, 'walk'),
    });
  }
  return phases;
}
