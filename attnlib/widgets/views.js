/* Operations that move no number, and those that copy: transpose, view, heads split and merged, slices, contiguous.
   Drawn twice: as grids, and as the strip of memory they are read from. A cell keeps the key of its address, so it
   travels in the grid and stands still in memory; in a copy it travels in memory too. */

import { code, list, say } from './kit.js';
import { drawMemory } from './memory.js';
import { drawOpen, extent, isOpen, open } from './open.js';
import { headsOf, movesNothing, originOf } from './origins.js';
import { SHARES, address, dimName, dimSize, namedShape, rank, shown } from './trace.js';

// ---------- the scene

/** @param stage 'before' | 'after' | 'walk' */
function drawMove(scene, step, stage) {
  const { at, trace } = scene,
    [input] = step.inputs,
    outputs = step.outputs,
    heads = headsOf(step, trace, at);
  const size = sizeFor(scene, step),
    { w, h } = size,
    gapped = between(scene);
  const tall = [input, ...outputs].some((tensor) => open(scene, tensor, at, w, h).inside);
  const y = scene.top + (tall ? 34 : 0);
  const openLeft = (tensor) =>
    open(scene, tensor, at, w, h).over !== null ? (scene.narrow ? 20 : 30) : 0;
  const fillIn = heads && ((index) => heads.fill(address(input, index)));
  const both = size.both,
    x = scene.left + (scene.narrow ? openLeft(input) : 0);
  let bottom = y,
    right = x;
  if (stage === 'before' || both) {
    const before = drawOpen(scene, input, at, x, y, {
      w,
      h,
      id: stage === 'before' ? input.storage : 'ghost',
      ghost: stage !== 'before',
      fill: stage === 'before' ? fillIn : null,
      kind: stage === 'walk' ? (index) => (index.at(-1) === 0 ? 'on' : '') : undefined,
      lit: stage === 'walk' ? { j: 0 } : {},
    });
    if (stage === 'walk') scene.band('column', before.first, { j: 0 });
    [bottom, right] = [before.bottom, before.right];
  }
  if (stage !== 'before') {
    let left = both ? right + gapped : x;
    for (const output of outputs) {
      const origin = originOf(step, output),
        same = origin ? { ...output, storage: input.storage } : output;
      const after = drawOpen(keyed(scene, origin, input), same, at, left + openLeft(output), y, {
        w,
        h,
        fill: heads && origin && ((index) => heads.fill(origin(index))),
        kind: stage === 'walk' ? (index) => (index.at(-2) === 0 ? 'on' : 'off') : undefined,
        name: shown(output),
      });
      if (stage === 'walk') scene.band('row', after.first, { i: 0 });
      [bottom, left] = [Math.max(bottom, after.bottom), after.right + gapped];
    }
  }
  drawMemory(scene, step, stage, bottom, heads);
}

/** A scene that writes into another one, with cells named after where they came from. */
function keyed(scene, origin, input) {
  if (!origin) return scene;
  const other = Object.create(scene);
  other.cells = (view, place, options) =>
    scene.cells(
      { ...view, key: (i, j) => `${input.storage}@${origin(view.index(i, j))}` },
      place,
      options,
    );
  return other;
}

/** The cell size at which the widest tensor of the row fits, and whether before and after fit side by side. */
function sizeFor(scene, step) {
  const all = [step.inputs[0], ...step.outputs],
    room = scene.width - scene.left - 24;
  const gaps = all.map((tensor) => extent(scene, tensor, scene.at, 0, 0));
  const units = all.map((tensor, n) => {
    const { width, height } = extent(scene, tensor, scene.at, 1, 1);
    return { width: width - gaps[n].width, height: height - gaps[n].height };
  });
  const most = (sizes, side) => Math.max(...sizes.map((size) => size[side]));
  const { w, h } = scene.fit(
    most(units, 'width'),
    most(units, 'height'),
    room - most(gaps, 'width'),
    400 - most(gaps, 'height'),
    all,
  );
  const apart = all.reduce(
    (sum, tensor) => sum + extent(scene, tensor, scene.at, w, h).width + between(scene),
    -between(scene),
  );
  return { w, h, both: apart <= room };
}
const between = (scene) => (scene.narrow ? 58 : 110);

// ---------- words

const name = (tensor) => code(shown(tensor));

/** The call as it stands in the code, where it is short. */
function call(step) {
  const found = step.code
    .split('.')
    .find((piece) => piece.startsWith(`${step.op}(`) && piece.length < 32);
  return code(found ? found.slice(0, found.indexOf(')') + 1) || step.op : step.op);
}

function memoryWords(trace, tensor) {
  const n = rank(tensor);
  if (n < 2) return say`${name(tensor)} lies in memory as one run of numbers.`;
  const along = [n - 1, n - 2].map(
    (axis) =>
      say`one step along ${dimName(trace, tensor.dims[axis])} is ${tensor.strides[axis]} ${tensor.strides[axis] === 1 ? 'number' : 'numbers'} further`,
  );
  return say`In the memory of ${name(tensor)}, ${list(along)}.`;
}

const SAYS = {
  transpose: (step, trace) => {
    const { dim0, dim1 } = step.params,
      { dims } = step.inputs[0];
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
      ? say`${name(step.inputs[0])} already lies in the order of its axes: ${call(step)} gives it back as it is.`
      : say`${call(step)} is where numbers do move: it writes a second storage in the order of the new axes.`,
  getitem: (step, trace) =>
    say`The index picks a part, ${namedShape(trace, step.outputs[0])}: ${SHARES.includes(step.kind) ? 'a view into the same memory' : 'a copy'}.`,
};

function moveWords(step, trace) {
  if (SAYS[step.op]) return SAYS[step.op](step, trace);
  const [input] = step.inputs,
    outputs = step.outputs,
    shares = SHARES.includes(step.kind);
  if (outputs.length > 1)
    return say`${call(step)} cuts ${name(input)} into ${outputs.length} pieces, ${list(outputs.map((output) => [name(output)]))}: ${shares ? 'views into the same memory' : 'copies'}.`;
  const [output] = outputs,
    gone = input.dims.filter((label) => !output.dims.includes(label)),
    come = output.dims
      .map((label, axis) => ({ label, axis }))
      .filter(({ label }) => !input.dims.includes(label));
  const end = shares
    ? 'memory is as it was'
    : 'the numbers no longer lie in that order, so a second storage is written';
  if (gone.length === 1 && come.length > 1)
    return say`${call(step)} cuts ${dimName(trace, gone[0])} into ${list(come.map(({ label, axis }) => dimSize(trace, label, output.shape[axis])))}; ${end}.`;
  if (come.length === 1 && gone.length > 1)
    return say`${call(step)} joins ${list(gone.map((label) => dimName(trace, label)))} into ${dimSize(trace, come[0].label, output.shape[come[0].axis])}; ${end}.`;
  return say`${call(step)} reads the same numbers as ${namedShape(trace, output)}; ${end}.`;
}

/** @returns the phases of a row that moves or copies numbers without changing them */
export function viewPhases(step, trace) {
  if (!movesNothing(step)) return null;
  const [input] = step.inputs,
    [output] = step.outputs,
    n = rank(output);
  const open = [input, ...step.outputs]
      .filter((tensor) => rank(tensor) > 3)
      .every((tensor) => isOpen(trace, tensor)),
    kept = open ? 3 : 2;
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
        say`Reading row 0 of ${name(output)} hops through the same storage by ${output.strides[n - 1]}: a view, not a copy.`,
      draw: (scene) => drawMove(scene, step, 'walk'),
    });
  }
  return phases;
}
