/* Operations number by number or row by row: inputs, scaling, masks, softmax, sums, and everything that has no picture
   of its own: operands, a sign, the result, side by side. */

import { clamp, code, dim, list, number, range, say } from './kit.js';
import { unit } from './scene.js';
import { axisRole, dimName, dimSize, namedShape, rank, sheet, shown, wordsOf } from './trace.js';

const SIGNS = { add: '+', sub: '−', mul: '×', div: '÷' };
const name = (tensor) => code(shown(tensor));

// ---------- a row of grids

/** Draw sheets and signs from left to right, on a new line where the room ends. Items: { view, … } or { sign }. */
export function flow(scene, items, top = scene.top + 20) {
  const views = items.filter((item) => item.view).map((item) => item.view);
  const { w, h } = scene.fit(Math.max(...views.map((view) => view.cols)), Math.max(...views.map((view) => view.rows)), scene.width - scene.left - 30, 300, views.map((view) => view.tensor));
  const apart = scene.narrow ? 76 : 110;
  let x = scene.left, y = top, deep = top, sign = null;
  const places = [];
  items.forEach((item) => {
    if (!item.view) { sign = item.sign; return; }
    const first = x === scene.left;
    if (!first && x + item.view.cols * w > scene.width - 10) {
      [x, y] = [scene.left, deep + (scene.narrow ? 66 : 84)];
    }
    if (sign) drawSign(scene, places.length, sign, x === scene.left ? [4, y - 32] : [x - (scene.narrow ? 50 : 66), y + item.view.rows * h / 2 + 6]);
    sign = null;
    const place = scene.grid(item.view, x, y, { w: unit(w, item.view.cols), h: unit(h, item.view.rows), words: first, ...item });
    places.push(place);
    [x, deep] = [place.right + place.depth + apart - place.depth, Math.max(deep, place.bottom + place.depth)];
  });
  return Object.assign(places, { bottom: deep });
}

/** A sign between two grids, its number under it. */
function drawSign(scene, n, sign, [x, y]) {
  const [first, second] = [sign].flat().length && Array.isArray(sign[0]) ? sign : [sign, null];
  scene.text(`sign${n}`, x, y, first, x === 4 ? 'sign' : 'sign middle');
  if (second) scene.text(`sign${n}.number`, x, y + 20, second, x === 4 ? '' : 'middle');
}

const front = (scene, tensor, options = {}) => ({ view: sheet(tensor, scene.at), ...options });
const hidden = { show: () => false };
const joined = (scene, tensors, sign) => tensors.flatMap((tensor, n) => [...(n && sign ? [{ sign }] : []), front(scene, tensor)]);

// ---------- inputs

function countWords(trace, tensor) {
  const n = rank(tensor), of = (axis) => dimSize(trace, tensor.dims[axis], tensor.shape[axis]);
  if (n === 0) return say`${name(tensor)} is a single number.`;
  if (n === 1) return say`${name(tensor)} is one row of ${of(0)} numbers.`;
  const rows = say`${of(n - 2)} ${tensor.shape[n - 2] === 1 ? 'row' : 'rows'} of ${of(n - 1)} numbers each`;
  if (tensor.shape.slice(0, -2).every((size) => size === 1)) return say`${name(tensor)} is ${rows}${n > 2 ? ', on a single sheet' : ''}.`;
  const lead = list(tensor.shape.slice(0, -2).map((_, axis) => of(axis)));
  return say`${name(tensor)} is a stack of ${lead} sheets; on each, ${rows}.`;
}

const inputPhases = (step, trace) => [{
  say: () => countWords(trace, step.outputs[0]), draw: (scene) => flow(scene, step.outputs.map((tensor) => front(scene, tensor)), scene.top + 24),
}];

// ---------- a number applied to every number

function drawSpread(scene, key, view, y, label, reach, ring) {
  const values = range(view.rows).flatMap((i) => range(view.cols).map((j) => view.value(i, j))).filter((v) => typeof v === 'number' && Number.isFinite(v));
  const x = scene.left, width = scene.narrow ? scene.width - 40 : 396, at = (v) => x + width / 2 + v * width / (2 * reach);
  const marks = [-reach, -reach / 2, 0, reach / 2, reach];
  scene.path(`${key}.line`, `M${x} ${y}h${width}${marks.map((m) => `M${at(m)} ${y - 4}v8`).join('')}`, 'hair');
  marks.forEach((m, n) => scene.text(`${key}.mark${n}`, at(m), y + 20, number(m, Number.isInteger(m) ? 0 : 1), 'middle'));
  values.forEach((v, n) => scene.box(`${key}.dot${n}`, at(v) - 5, y - 14, 10, 10, ring ? 'dot ring' : 'dot'));
  scene.text(`${key}.label`, x, y - 24, label);
}

function drawScale(scene, step, sign, done) {
  const [input] = step.inputs, [output] = step.outputs, view = sheet(input, scene.at);
  const places = flow(scene, [front(scene, input), { sign }, front(scene, output, done ? {} : hidden)]);
  if (!input.values || !output.values || view.rows * view.cols > 48) return;
  const finite = range(view.rows).flatMap((i) => range(view.cols).map((j) => Math.abs(Number(view.value(i, j))))).filter(Number.isFinite);
  const reach = Math.max(1, Math.ceil(Math.max(0, ...finite))), low = places.bottom + 66;
  drawSpread(scene, 'before', view, low, say`the numbers of ${name(input)} on a line`, reach, done);
  if (done) drawSpread(scene, 'after', sheet(output, scene.at), low + 72, say`those of ${name(output)}`, reach);
}

function scalePhases(step, trace) {
  const [input] = step.inputs, size = step.params.head_size, by = step.params.other;
  const heads = step.op === 'scale_scores' && typeof size === 'number';
  const root = heads ? Math.sqrt(size) : by, H = dim('H', 'H');
  const short = number(root, Number.isInteger(root) ? 0 : 2);
  const sign = heads ? [say`÷ √${H}`, say`= ${short}`] : say`${SIGNS[step.op] || step.op} ${short}`;
  const why = heads ? say`Each score is a sum of ${H} = ${size} products and tends to grow with √${H}; dividing by √${H} = ${short} takes that growth away.`
    : say`Every number of ${name(input)} meets the same number: ${sign}.`;
  const shrink = heads || step.op === 'div' ? 1 / root : step.op === 'mul' ? root : null;
  const after = shrink === null || !(shrink > 0) ? say`The shape stays ${namedShape(trace, step.outputs[0])}; only the numbers change.`
    : say`Every distance from zero is ${shrink === 0.5 ? 'halved' : `multiplied by ${number(shrink)}`}, and no number overtakes another.`;
  return [{ say: () => why, draw: (scene) => drawScale(scene, step, sign, false) }, { say: () => after, draw: (scene) => drawScale(scene, step, sign, true) }];
}

// ---------- masks

const openIn = (view, i) => range(view.cols).filter((j) => view.value(i, j) === true).length;

function maskPhases(step, trace) {
  const [mask] = step.outputs, pick = (state) => clamp(state.i, 0, Math.max(0, sheet(mask, state.at).rows - 1));
  const labels = { row: { word: 'queries' }, col: { word: 'keys' } };
  const draw = (scene, i) => {
    const [place] = flow(scene, [front(scene, mask, { ...labels, lit: { i }, pick: (r) => ({ i: r }), kind: (r) => (i === undefined || r === i ? '' : 'off') })], scene.top + 24);
    if (i !== undefined) scene.band('row', place, { i });
  };
  const phases = [{ say: () => say`${code('True')} means this query may attend to this key; the hatched cells are closed: row i sees key 0 up to its own place.`, draw: (scene) => draw(scene) }];
  if (mask.values) {
    phases.push({ picks: { i: sheet(mask, {}).rows }, say: (state) => {
      const view = sheet(mask, state.at), i = pick(state), shared = rank(mask) === 2 ? say`; the mask is one ${dimName(trace, mask.dims[0])} × ${dimName(trace, mask.dims[1])} sheet and serves every sequence` : [];
      return say`Row ${i} may look at ${openIn(view, i)} of ${view.cols} keys${shared}.`;
    }, draw: (scene, state) => draw(scene, pick(state)) });
  }
  return phases;
}

function maskedPhases(step, trace) {
  const where = step.inputs.findIndex((tensor) => tensor.dtype === 'bool'), mask = step.inputs[where], output = step.outputs[0];
  const scores = step.inputs.find((tensor, n) => n !== where);
  if (!mask || !scores) return null;
  const closes = step.op === 'masked_fill', value = closes ? step.params.value : step.op === 'mask_scores' ? -Infinity : undefined;
  const fill = value === '-inf' ? -Infinity : value;
  const draw = (scene, done) => {
    const square = rank(output) > 1 && output.dims.at(-1) === output.dims.at(-2) ? { row: { word: 'queries' }, col: { word: 'keys' } } : {};
    flow(scene, [front(scene, scores), { sign: say`where` }, front(scene, mask, { ...square, masked: (v) => v === closes && v !== null }),
      { sign: say`=` }, front(scene, output, { ...(done ? {} : hidden), masked: (v) => v === fill || v === -Infinity })]);
  };
  const shared = rank(mask) < rank(scores);
  return [
    { say: () => say`${shared ? 'The same mask' : 'The mask'} ${name(mask)} is laid over ${name(scores)}${shared ? ', once for every sheet' : ''}.`, draw: (scene) => draw(scene, false) },
    { say: () => (fill === undefined ? say`Where ${name(mask)} says ${code('True')} the first number is taken, elsewhere the second.`
      : say`Where ${name(mask)} says ${code(closes ? 'True' : 'False')} the score becomes ${number(Number(fill), 0)}; every other score stays as it was.`), draw: (scene) => draw(scene, true) },
  ];
}

// ---------- softmax

/** One row of a softmax, step by step. */
export function softmax(values) {
  const top = Math.max(...values), shifted = values.map((v) => (top === -Infinity ? -Infinity : v - top)), powers = shifted.map(Math.exp);
  const sum = powers.reduce((a, b) => a + b, 0);
  return { top, shifted, powers, sum, weights: powers.map((p) => (sum === 0 ? 0 : p / sum)) };
}

function drawBars(scene, place, view, rows) {
  const x = place.right + (scene.narrow ? 16 : 46) + place.depth, width = Math.min(220, scene.width - x - (scene.narrow ? 6 : 56));
  const words = wordsOf(scene.trace, { ...view, rowDim: view.colDim, rows: view.cols }), role = axisRole(scene.trace, view.colDim);
  if (width < 30) return;
  for (const i of rows) {
    let left = x, total = 0;
    range(view.cols).forEach((j) => {
      const share = view.value(i, j), top = place.y + i * place.h;
      if (share > 0) scene.box(`bar${i}.${j}`, left, top + 8, share * width, place.h - 16, 'segment', role);
      if (share * width > 50 && words && scene.wide) scene.text(`bar${i}.word${j}`, left + 5, top + 4, words[j]);
      [left, total] = [left + share * width, total + share];
    });
    scene.path(`bar${i}.ends`, `M${x} ${place.y + i * place.h + 4}v${place.h - 8}M${x + width} ${place.y + i * place.h + 4}v${place.h - 8}`, 'rule');
    if (!scene.narrow) scene.text(`bar${i}.sum`, x + width + 8, place.y + i * place.h + place.h / 2 + 4, `= ${number(total)}`, 'ink');
  }
  if (scene.narrow) scene.text('bar.sum', x, place.y - 8, 'sum 1');
}

function drawSoftmax(scene, step, i, part) {
  const pick = (r) => ({ i: r });
  const [input] = step.inputs, [output] = step.outputs, view = sheet(output, scene.at), all = i === undefined;
  const square = view.rowDim === view.colDim ? { col: { word: 'keys' } } : {};
  const [a, b] = flow(scene, [
    front(scene, input, { lit: { i }, kind: (r) => (all || r === i ? '' : 'off'), pick, ...square }), { sign: say`→` },
    front(scene, output, { lit: { i }, show: (r) => all || (r === i && part > 2), pick, ...square }),
  ], scene.top + 6);
  if (all || part > 2) { if (!b.block && view.cols <= 16) drawBars(scene, b, view, all ? range(view.rows) : [i]); }
  if (all) return;
  scene.band('row', a, { i });
  const rowOf = sheet(input, scene.at), values = range(view.cols).map((j) => rowOf.value(i, j)), made = softmax(values);
  if (values.length > 12) return;
  const w = Math.min(scene.cellWidth, (scene.width - scene.left - 60) / values.length), bottom = Math.max(a.bottom, b.bottom);
  scene.ledger('ledger', scene.narrow ? 120 : scene.left + 60, bottom + (scene.narrow ? 74 : 78), w, view.colDim, [
    { label: `${shown(input)}[${i}]`, values }, { label: `− max (${number(made.top)})`, values: made.shifted.map((v) => (part > 0 ? v : null)) },
    { label: 'exp', values: made.powers.map((v) => (part > 1 ? v : null)) },
    { label: `÷ sum (${part > 1 ? number(made.sum) : '…'})`, values: range(view.cols).map((j) => (part > 2 ? view.value(i, j) : null)), ruled: true },
  ]);
}

function softmaxPhases(step, trace) {
  const [input] = step.inputs, [output] = step.outputs, n = rank(output), along = step.params.dim ?? n - 1;
  if (!input || n === 0 || (along + n) % n !== n - 1) return null;
  const whole = { say: () => say`Every row is its own distribution; each sums to 1 along the last axis, ${dimSize(trace, output.dims[n - 1], output.shape[n - 1])}.`, draw: (scene) => drawSoftmax(scene, step) };
  if (!input.values || !output.values) return [{ ...whole, draw: (scene) => flow(scene, [front(scene, input), { sign: say`→` }, front(scene, output)]) }];
  const pick = (state) => clamp(state.i, 0, Math.max(0, sheet(output, state.at).rows - 1));
  const masked = input.values.includes(-Infinity);
  return [
    [say`Softmax takes one row at a time; shifting it by its maximum changes nothing in the end and keeps exp from overflowing.`, 1],
    [say`exp makes every number positive${masked ? ', and exp(−∞) is exactly 0: the hatched keys are out' : ''}.`, 2],
    [say`Divided by their sum, the numbers of the row are weights: together exactly one bar of length 1.`, 3],
  ].map(([words, part]) => ({ picks: { i: sheet(output, {}).rows }, say: () => words, draw: (scene, state) => drawSoftmax(scene, step, pick(state), part) })).concat([whole]);
}

// ---------- everything else

const SAYS = {
  cat: (step, trace) => say`${list(step.inputs.map((tensor) => [name(tensor)]))} are joined along ${axisAt(trace, step)}, in this order.`,
  stack: (step) => say`${list(step.inputs.map((tensor) => [name(tensor)]))} become the sheets along a new axis.`,
  sum: (step, trace) => say`The numbers along ${axisAt(trace, step)} are added; that axis is ${rank(step.outputs[0]) === rank(step.inputs[0]) ? 'now 1 long' : 'gone'}.`,
  mean: (step, trace) => say`The numbers along ${axisAt(trace, step)} are averaged; that axis is ${rank(step.outputs[0]) === rank(step.inputs[0]) ? 'now 1 long' : 'gone'}.`,
  layer_norm: (step, trace) => say`Each row is shifted to mean 0 and divided by its own spread along ${dimName(trace, step.inputs[0].dims.at(-1))}; the shape stays.`,
  embedding: (step) => say`Each id picks its row of the table: ${name(step.outputs[0])} holds one row an id.`,
  dropout: () => say`In training some numbers are set to 0 and the others made larger to keep the mean; the shape stays.`,
  scaled_dot_product_attention: () => say`One fused call does scores, scale, mask, softmax and weighted sum; the S × S weights are never handed out.`,
  tril: () => say`Row i keeps its columns up to i; what lies right of the diagonal becomes 0.`,
  triu: () => say`Row i keeps its columns from i on; what lies left of the diagonal becomes 0.`,
};

function axisAt(trace, step) {
  const [input] = step.inputs, axis = step.params.dim;
  if (!Number.isInteger(axis)) return 'all axes';
  const label = input.dims.at(axis);
  return label === undefined || label === String(input.shape.at(axis)) ? `axis ${axis}` : dimName(trace, label);
}

function plainWords(step, trace) {
  if (SAYS[step.op]) return SAYS[step.op](step, trace);
  if (!step.inputs.length) return say`${code(step.op)} makes ${list(step.outputs.map((tensor) => [name(tensor), ' ', ...namedShape(trace, tensor)].map((part) => (part.kind === undefined ? { text: part, kind: '' } : part))))} out of no other tensor.`;
  const of = list(step.inputs.map((tensor) => [name(tensor)]));
  if (SIGNS[step.op] && step.inputs.length === 2) {
    const [a, b] = step.inputs, spreads = a.shape.join() !== b.shape.join();
    return say`${of} meet number by number${spreads ? say`; ${name(rank(a) < rank(b) ? a : b)} ${namedShape(trace, rank(a) < rank(b) ? a : b)} is used again and again along the axes it lacks` : ''}.`;
  }
  return say`${code(step.op)} makes ${list(step.outputs.map((tensor) => [name(tensor)]))} from ${of}.`;
}

function errorPhases(step) {
  const note = step.note || 'torch refuses';
  return [{ say: () => say`This line fails: ${note.split('\n')[0]}.`.map((part) => ({ ...part, text: part.text.replace(/\.\.$/, '.') })), draw: (scene) => {
    const places = step.inputs.length ? flow(scene, joined(scene, step.inputs)) : Object.assign([], { bottom: scene.top });
    scene.text('refused', scene.left, places.bottom + 60, 'no result', 'bad strong');
  } }];
}

function plainPhases(step, trace) {
  const sign = SIGNS[step.op] ? say`${SIGNS[step.op]}` : null;
  const before = (scene) => joined(scene, step.inputs, sign);
  const after = (scene, options) => step.outputs.map((tensor) => front(scene, tensor, options));
  if (!step.inputs.length && !step.outputs.length) return [{ say: () => say`${code(step.op)} has no tensor to show.`, draw: (scene) => scene.text('nothing', scene.left, scene.top, 'no tensor') }];
  const draw = (scene, options) => flow(scene, [...before(scene), ...(step.inputs.length ? [{ sign: say`${sign ? '=' : '→'}` }] : []), ...after(scene, options)]);
  return [{ say: () => plainWords(step, trace), draw: (scene) => draw(scene, {}) }];
}

const IS = {
  input: inputPhases, scale_scores: scalePhases, causal_mask: maskPhases, mask_scores: maskedPhases, masked_fill: maskedPhases,
  where: maskedPhases, softmax: softmaxPhases, attention_weights: softmaxPhases,
};

/** @returns the phases of any row that is neither a product nor a view */
export function mapPhases(step, trace) {
  if (step.kind === 'error') return errorPhases(step);
  if (step.kind === 'input' && step.outputs.length) return inputPhases(step, trace);
  const one = step.inputs.length === 1 && step.outputs.length === 1;
  if (SIGNS[step.op] && one && typeof step.params.other === 'number') return scalePhases(step, trace);
  if (step.op === 'scale_scores' && !one) return plainPhases(step, trace);
  return (IS[step.op] && step.outputs.length && IS[step.op](step, trace)) || plainPhases(step, trace);
}
