/* Operations that move no number, and those that copy: transpose, view, heads split and merged, slices, contiguous.
   Drawn twice: as grids, and as the strip of memory they are read from. A cell keeps the key of its address, so it
   travels in the grid and stands still in memory; in a copy it travels in memory too. */

import { code, dim, list, range, say } from './kit.js';
import { SHARES, address, axisRole, chosen, dimName, dimSize, indices, namedShape, namedStrides, rank, roleOf, sheet,
  sheetAlong, shown } from './trace.js';

const STRIP = 64;        // memory is drawn number by number up to so many numbers
const BLOCKS = 4;        // so many sheets of a 4-D tensor are laid open

/** The index in the input that each index of the output was read from; null where the row does not say. */
const SOURCES = {
  transpose: ({ params }) => (index) => swap(index, params.dim0, params.dim1),
  permute: ({ params }) => (index) => index.map((_, axis) => index[params.dims.indexOf(axis)]),
  contiguous: () => (index) => index,
  clone: () => (index) => index,
  split_heads: ({ inputs: [x], outputs: [out] }) => (index) => {
    const [h, s, d] = index.slice(-3);
    return [...index.slice(0, -3), s, h * out.shape.at(-1) + d].slice(-rank(x));
  },
  merge_heads: ({ inputs: [x] }) => (index) => {
    const [s, e] = index.slice(-2), H = x.shape.at(-1);
    return [...index.slice(0, -2), Math.floor(e / H), s, e % H];
  },
};
for (const op of ['view', 'reshape', 'flatten', 'unflatten', 'squeeze', 'unsqueeze']) {
  SOURCES[op] = ({ inputs: [x], outputs: [out] }) => (index) => unravel(ravel(index, out.shape), x.shape);
}

function swap(index, a, b) {
  const other = [...index];
  [other[a], other[b]] = [index[b], index[a]];
  return other;
}
const ravel = (index, sizes) => index.reduce((sum, i, axis) => sum * sizes[axis] + i, 0);
const unravel = (n, sizes) => sizes.reduceRight(([index, rest], size) => [[rest % size, ...index], Math.floor(rest / size)], [[], n])[0];

/** For every output of the row: index -> address in the input's memory it came from, or null. */
export function originOf(step, output) {
  const [input] = step.inputs;
  if (SHARES.includes(step.kind)) return (index) => address(output, index);
  const source = SOURCES[step.op] && SOURCES[step.op](step);
  return source ? (index) => address(input, source(index)) : null;
}

export const movesNothing = (step) => step.inputs.length > 0 && step.outputs.length > 0
  && (SHARES.includes(step.kind) ? step.kind !== 'in-place' : Boolean(SOURCES[step.op]))
  && step.op !== 'dropout';

// ---------- heads: which head a number belongs to, told by the tensor that has the axis

function headsOf(step, trace, at) {
  const owner = [...step.outputs, ...step.inputs].find((tensor) => tensor.dims.some((label) => roleOf(trace, label) === 'heads') && rank(tensor) > 2);
  if (!owner) return null;
  const axis = owner.dims.findIndex((label) => roleOf(trace, label) === 'heads'), heads = owner.shape[axis];
  const origin = step.outputs.includes(owner) ? originOf(step, owner) : (index) => address(owner, index);
  if (!origin || heads < 2 || heads > 8) return null;
  const found = new Map(), lead = chosen(owner, at, 3);
  for (const index of indices(owner.shape.slice(-3))) found.set(origin([...lead, ...index]), [...lead, ...index][axis]);
  return { of: found, fill: (place) => headTint(found.get(place), heads) };
}
const headTint = (head, heads) => (head === undefined ? undefined
  : `color-mix(in oklab, var(--heads-fill) ${Math.round(9 + 36 * head / (heads - 1))}%, var(--paper))`);

// ---------- a tensor laid open: up to three axes at once

/** Whether a tensor is drawn with three axes at once instead of with one sheet in front. */
export function isOpen(trace, tensor) {
  const n = rank(tensor);
  return n > 3 && tensor.shape[roleOf(trace, tensor.dims[n - 2]) === 'heads' ? n - 2 : n - 3] <= BLOCKS;
}

/** The sheets of a tensor and where they stand: [{ view, x, y }], with the axis that runs over them. */
function open(scene, tensor, at, w, h) {
  const n = rank(tensor), over = n - 3;
  if (!isOpen(scene.trace, tensor)) return { sheets: [{ view: sheet(tensor, at), x: 0, y: 0 }], over: null };
  const lead = chosen(tensor, at, 3), base = [...lead, 0, 0, 0];
  const stack = lead.map((i, axis) => ({ label: tensor.dims[axis], size: tensor.shape[axis], at: i })).filter((axis) => axis.size > 1);
  const inside = roleOf(scene.trace, tensor.dims[n - 2]) === 'heads', axis = inside ? n - 2 : over;
  const sheets = range(tensor.shape[axis]).map((i) => ({
    view: sheetAlong(tensor, base.map((v, a) => (a === axis ? i : v)), inside ? over : n - 2, n - 1, stack),
    x: inside ? i * (tensor.shape[n - 1] * w + (scene.narrow ? 10 : 22)) : 0,
    y: inside ? 0 : i * (tensor.shape[n - 2] * h + (scene.narrow ? 34 : 38)),
  }));
  return { sheets, over: axis, inside };
}

function extent(scene, tensor, at, w, h) {
  const { sheets } = open(scene, tensor, at, w, h), last = sheets.at(-1);
  return { width: last.x + last.view.cols * w, height: last.y + last.view.rows * h };
}

function drawOpen(scene, tensor, at, x, y, options) {
  const { w, h, id = tensor.storage, name = shown(tensor) } = options, { sheets, over, inside } = open(scene, tensor, at, w, h);
  const places = sheets.map(({ view, x: dx, y: dy }, n) => scene.grid(view, x + dx, y + dy, {
    ...options, id: over === null ? id : `${id}.${n}`, name: false, words: over === null || (inside && n === 0),
    row: { bare: inside && n > 0 }, lit: options.lit || {},
    kind: options.kind && ((i, j) => options.kind(view.index(i, j))), fill: options.fill && ((i, j) => options.fill(view.index(i, j))),
  }));
  const [first, last] = [places[0], places.at(-1)];
  if (over !== null) {
    const size = tensor.shape[over], label = tensor.dims[over];
    if (inside) scene.axis(`${id}.axis.${label}`, label, x, y - (scene.narrow ? 36 : 44), size, (last.right - x) / size);
    else scene.axis(`${id}.axis.${label}`, label, x - (scene.narrow ? 33 : 44), last.bottom, size, (last.bottom - y) / size, { upright: true, gap: 10 });
  }
  const lift = (over !== null && inside ? 36 : 0) + (scene.narrow ? 32 : 40);
  scene.title(id, sheets[0].view, { ...first, y: y - lift + (scene.narrow ? 32 : 40), depth: first.depth }, { name, kind: options.nameKind || '' });
  return { right: last.right + last.depth, bottom: last.bottom + last.depth, x, y, w, h, lift, first };
}

// ---------- memory

const cellsOf = (scene, tensor, at, w, h) => open(scene, tensor, at, w, h).sheets
  .flatMap(({ view }) => range(view.rows).flatMap((i) => range(view.cols).map((j) => view.index(i, j))));

/** The strip: addresses in order, each with its value. `order` lists the origin of every number, for a copy. */
function drawStrip(scene, step, y, { order, on, label, heads }) {
  const [input] = step.inputs, w0 = scene.width - 4;
  const known = new Map(indices(input.shape).map((index) => [address(input, index), index]));
  const w = Math.max(scene.narrow ? 29 : 34, Math.min(scene.cellWidth, Math.floor(w0 / Math.min(order.length, 24))));
  const per = Math.min(order.length, Math.max(1, Math.floor(w0 / w))), line = scene.line + 46;
  const x = per * w + scene.left < scene.width - 150 || (per === order.length && per * w + scene.left <= scene.width) ? scene.left : 2;
  const spot = (n) => ({ x: x + (n % per) * w, y: y + Math.floor(n / per) * line });
  const values = input.values, start = Math.min(...order);
  scene.text('memory.label', x, y - 42, label);
  order.forEach((from, n) => {
    const at = spot(n), index = known.get(from);
    const value = index && values ? values[ravel(index, input.shape)] : null;
    scene.cell(`memory.${input.storage}@${from}`, at.x, at.y, value, {
      w, h: scene.line, digits: input.digits, fill: heads && heads.fill(from), kind: on ? (on.includes(from) ? 'on' : 'off') : '',
      ref: index && { tensor: input, index },
    });
    if (order.length <= 24 ? w >= 30 || n % 2 === 0 : n % 4 === 0) scene.text(`memory.at${n}`, at.x + w / 2, at.y + scene.line + 14, String(label.copy ? n : start + n), 'middle');
  });
  return { spot, w, x, per, bottom: spot(order.length - 1).y + scene.line + 20, end: x + per * w };
}

/** A jump of one stride, above the strip or below it, in the colour of the axis it walks along. */
function drawHop(scene, key, strip, from, to, label, above, stride) {
  const [a, b] = [strip.spot(from), strip.spot(to)];
  if (a.y !== b.y) return;
  const [x1, x2] = [a.x + strip.w / 2, b.x + strip.w / 2], y = above ? a.y - 3 : a.y + scene.line + 20, r = Math.abs(x2 - x1) / 2;
  const role = axisRole(scene.trace, label), tip = above ? '-5 -5m5 5l3 -7' : '-5 5m5 -5l3 7';
  scene.path(key, `M${x1} ${y}A${r} ${Math.min(r, 26)} 0 0 ${above ? 1 : 0} ${x2} ${y}l${tip}`, 'hop', role);
  if (stride !== undefined) scene.text(`${key}.stride`, x2 + 10, above ? a.y - 12 : y + 14, [dim(`step ${stride}`, role)], 'strong');
}

function drawHops(scene, step, strip, start, tensor, walk) {
  const n = rank(tensor);
  if (n < 2 || tensor.shape.length < 2) return;
  const [row, col] = [tensor.strides[n - 2], tensor.strides[n - 1]], size = (axis) => tensor.shape[axis];
  if (walk) {
    for (const j of range(Math.min(size(n - 1) - 1, 5))) drawHop(scene, `hop.${tensor.dims[n - 1]}.${j}`, strip, j * col, (j + 1) * col, tensor.dims[n - 1], true, j === Math.min(size(n - 1) - 1, 5) - 1 ? col : undefined);
    return;
  }
  const [far, near] = row >= col ? [n - 2, n - 1] : [n - 1, n - 2];
  if (size(far) > 1) drawHop(scene, `hop.${tensor.dims[far]}.0`, strip, 0, tensor.strides[far], tensor.dims[far], true, tensor.strides[far]);
  if (size(near) > 1) drawHop(scene, `hop.${tensor.dims[near]}.near`, strip, 0, tensor.strides[near], tensor.dims[near], false, tensor.strides[near]);
}

function drawClaims(scene, strip, order, heads) {
  const head = order.map((from) => heads.of.get(from)), role = 'heads';
  let from = 0;
  range(order.length + 1).slice(1).forEach((n) => {
    if (n < order.length && head[n] === head[from] && n % strip.per !== 0) return;
    const [a, b] = [strip.spot(from), strip.spot(n - 1)], right = b.x + strip.w - 3;
    if (head[from] !== undefined) {
      scene.path(`claim${from}`, `M${a.x + 3} ${a.y - 5}v-5H${right}v5`, 'claim', role);
      scene.text(`claim${from}.text`, (a.x + right) / 2, a.y - 14, [dim(right - a.x > 52 ? `head ${head[from]}` : head[from], role)], 'middle strong');
    }
    from = n;
  });
}

function drawStrides(scene, tensors, x, y, apart) {
  tensors.forEach((tensor, n) => {
    const [tx, ty] = apart ? [x + n * Math.min(200, (scene.width - x) / 2), y] : [x, y + n * 44];
    scene.text(`strides${n}.shape`, tx, ty, say`${code(shown(tensor))} ${namedShape(scene.trace, tensor)}`, '');
    scene.text(`strides${n}.strides`, tx, ty + 17, say`strides ${namedStrides(scene.trace, tensor)}`, '');
  });
}

// ---------- the scene

/** @param stage 'before' | 'after' | 'walk' */
function drawMove(scene, step, stage) {
  const { at, trace } = scene, [input] = step.inputs, outputs = step.outputs, heads = headsOf(step, trace, at);
  const size = sizeFor(scene, step), { w, h } = size, gapped = between(scene);
  const tall = [input, ...outputs].some((tensor) => open(scene, tensor, at, w, h).inside);
  const y = scene.top + (tall ? 34 : 0);
  const openLeft = (tensor) => (open(scene, tensor, at, w, h).over !== null ? (scene.narrow ? 20 : 30) : 0);
  const fillIn = heads && ((index) => heads.fill(address(input, index)));
  const both = size.both, x = scene.left + (scene.narrow ? openLeft(input) : 0);
  let bottom = y, right = x;
  if (stage === 'before' || both) {
    const before = drawOpen(scene, input, at, x, y, {
      w, h, id: stage === 'before' ? input.storage : 'ghost', ghost: stage !== 'before', fill: stage === 'before' ? fillIn : null,
      kind: stage === 'walk' ? (index) => (index.at(-1) === 0 ? 'on' : '') : undefined, lit: stage === 'walk' ? { j: 0 } : {},
    });
    if (stage === 'walk') scene.band('column', before.first, { j: 0 });
    [bottom, right] = [before.bottom, before.right];
  }
  if (stage !== 'before') {
    let left = both ? right + gapped : x;
    for (const output of outputs) {
      const origin = originOf(step, output), same = origin ? { ...output, storage: input.storage } : output;
      const after = drawOpen(keyed(scene, origin, input), same, at, left + openLeft(output), y, {
        w, h, fill: heads && origin && ((index) => heads.fill(origin(index))),
        kind: stage === 'walk' ? (index) => (index.at(-2) === 0 ? 'on' : 'off') : undefined, name: shown(output),
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
  other.cells = (view, place, options) => scene.cells({ ...view, key: (i, j) => `${input.storage}@${origin(view.index(i, j))}` }, place, options);
  return other;
}

/** The cell size at which the widest tensor of the row fits, and whether before and after fit side by side. */
function sizeFor(scene, step) {
  const all = [step.inputs[0], ...step.outputs], room = scene.width - scene.left - 24;
  const gaps = all.map((tensor) => extent(scene, tensor, scene.at, 0, 0));
  const units = all.map((tensor, n) => { const { width, height } = extent(scene, tensor, scene.at, 1, 1); return { width: width - gaps[n].width, height: height - gaps[n].height }; });
  const most = (sizes, side) => Math.max(...sizes.map((size) => size[side]));
  const { w, h } = scene.fit(most(units, 'width'), most(units, 'height'), room - most(gaps, 'width'), 400 - most(gaps, 'height'), all);
  const apart = all.reduce((sum, tensor) => sum + extent(scene, tensor, scene.at, w, h).width + between(scene), -between(scene));
  return { w, h, both: apart <= room };
}
const between = (scene) => (scene.narrow ? 58 : 110);

function drawMemory(scene, step, stage, bottom, heads) {
  const { at, trace } = scene, [input] = step.inputs, [output] = step.outputs, copies = !SHARES.includes(step.kind);
  const origin = originOf(step, output), tensors = stage === 'before' ? [input] : [input, output];
  const y = bottom + (scene.narrow ? 84 : 86), inside = cellsOf(scene, input, at, 10, 10).map((index) => address(input, index));
  const [low, high] = inside.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  if (!input.values || high - low + 1 > STRIP || !inside.length) {
    drawStrides(scene, tensors, scene.left, bottom + 62, scene.wide);
    return;
  }
  const moved = copies && origin && stage !== 'before';
  const order = moved ? cellsOf(scene, output, at, 10, 10).sort((a, b) => address(output, a) - address(output, b)).map(origin) : range(high - low + 1).map((n) => low + n);
  const label = Object.assign(say`memory of ${code(shown(moved ? output : input))}${moved ? ', a second storage' : ''}`, { copy: moved });
  const walk = stage === 'walk' ? range(output.shape.at(-1)).map((j) => address(output, [...chosen(output, at), 0, j])) : undefined;
  const strip = drawStrip(scene, step, y, { order, on: walk, label, heads });
  if (heads && stage !== 'before') drawClaims(scene, strip, order, heads);
  else if (!heads && !moved) drawHops(scene, step, strip, low, stage === 'walk' ? output : input, stage === 'walk');
  const beside = strip.end + 36 < scene.width - 150;
  drawStrides(scene, tensors, beside ? strip.end + 36 : strip.x, beside ? y + 4 : strip.bottom + 40, !beside);
}

// ---------- words

const name = (tensor) => code(shown(tensor));

/** The call as it stands in the code, where it is short. */
function call(step) {
  const found = step.code.split('.').find((piece) => piece.startsWith(`${step.op}(`) && piece.length < 32);
  return code(found ? found.slice(0, found.indexOf(')') + 1) || step.op : step.op);
}


function memoryWords(trace, tensor) {
  const n = rank(tensor);
  if (n < 2) return say`${name(tensor)} lies in memory as one run of numbers.`;
  const along = [n - 1, n - 2].map((axis) => say`one step along ${dimName(trace, tensor.dims[axis])} is ${tensor.strides[axis]} ${tensor.strides[axis] === 1 ? 'number' : 'numbers'} further`);
  return say`In the memory of ${name(tensor)}, ${list(along)}.`;
}

const SAYS = {
  transpose: (step, trace) => {
    const { dim0, dim1 } = step.params, { dims } = step.inputs[0];
    return say`${call(step)} swaps ${dimName(trace, dims[dim0] ?? '?')} and ${dimName(trace, dims[dim1] ?? '?')}: the axes and their strides change places, and nothing moves in memory.`;
  },
  permute: (step, trace) => say`${call(step)} puts the axes in the order ${namedShape(trace, step.outputs[0])}; their strides go with them, and nothing moves in memory.`,
  split_heads: (step, trace) => {
    const heads = step.outputs[0].dims.at(-3);
    return say`Each row is cut where one head ends, then ${dimName(trace, heads)} steps before the rows: one sheet a head.`;
  },
  merge_heads: (step, trace) => say`The heads of a token are laid side by side again: ${namedShape(trace, step.inputs[0])} becomes ${namedShape(trace, step.outputs[0])}.`,
  contiguous: (step) => (SHARES.includes(step.kind) ? say`${name(step.inputs[0])} already lies in the order of its axes: ${call(step)} gives it back as it is.`
    : say`${call(step)} is where numbers do move: it writes a second storage in the order of the new axes.`),
  getitem: (step, trace) => say`The index picks a part, ${namedShape(trace, step.outputs[0])}: ${SHARES.includes(step.kind) ? 'a view into the same memory' : 'a copy'}.`,
};

function moveWords(step, trace) {
  if (SAYS[step.op]) return SAYS[step.op](step, trace);
  const [input] = step.inputs, outputs = step.outputs, shares = SHARES.includes(step.kind);
  if (outputs.length > 1) return say`${call(step)} cuts ${name(input)} into ${outputs.length} pieces, ${list(outputs.map((output) => [name(output)]))}: ${shares ? 'views into the same memory' : 'copies'}.`;
  const [output] = outputs, gone = input.dims.filter((label) => !output.dims.includes(label)), come = output.dims.map((label, axis) => ({ label, axis })).filter(({ label }) => !input.dims.includes(label));
  const end = shares ? 'memory is as it was' : 'the numbers no longer lie in that order, so a second storage is written';
  if (gone.length === 1 && come.length > 1) return say`${call(step)} cuts ${dimName(trace, gone[0])} into ${list(come.map(({ label, axis }) => dimSize(trace, label, output.shape[axis])))}; ${end}.`;
  if (come.length === 1 && gone.length > 1) return say`${call(step)} joins ${list(gone.map((label) => dimName(trace, label)))} into ${dimSize(trace, come[0].label, output.shape[come[0].axis])}; ${end}.`;
  return say`${call(step)} reads the same numbers as ${namedShape(trace, output)}; ${end}.`;
}

/** @returns the phases of a row that moves or copies numbers without changing them */
export function viewPhases(step, trace) {
  if (!movesNothing(step)) return null;
  const [input] = step.inputs, [output] = step.outputs, n = rank(output);
  const open = [input, ...step.outputs].filter((tensor) => rank(tensor) > 3).every((tensor) => isOpen(trace, tensor)), kept = open ? 3 : 2;
  const phases = [
    { kept, say: () => memoryWords(trace, input), draw: (scene) => drawMove(scene, step, 'before') },
    { kept, say: () => moveWords(step, trace), draw: (scene) => drawMove(scene, step, 'after') },
  ];
  const turns = step.op === 'transpose' && step.kind === 'view' && n > 1 && n < 4 && Math.min(step.params.dim0, step.params.dim1) === n - 2;
  if (turns && output.shape[n - 1] > 1 && step.outputs.length === 1) {
    phases.push({ say: () => say`Reading row 0 of ${name(output)} hops through the same storage by ${output.strides[n - 1]}: a view, not a copy.`, draw: (scene) => drawMove(scene, step, 'walk') });
  }
  return phases;
}
