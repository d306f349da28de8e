/* Products: a linear map, a matmul, a weighted sum. Drawn as a cross: the left operand below on the left, the right
   operand above on the right, the result where row and column meet; the contracted dim bends from one to the other. */

import { clamp, code, number, range, say } from './kit.js';
import { unit } from './scene.js';
import { axisRole, chosen, dimName, dimSize, rank, roleOf, sheet, shown, wordsOf } from './trace.js';

const TURNED = ['linear', 'project', 'attention_scores'];      // the right operand is drawn turned
const MATMUL = ['matmul', 'bmm', 'mm', 'weighted_sum'];
const TERMS = 6;         // up to so many terms a sum grows one by one
const LEDGER = 10;       // up to so many terms it is written out at all

/** The operands of a product row, or null where it cannot be drawn as a cross. */
export function productOf(step) {
  const turned = TURNED.includes(step.op);
  if (!turned && !MATMUL.includes(step.op)) return null;
  const [left, right, bias = null] = step.inputs, [result = null] = step.outputs;
  if (!left || !right || rank(left) < (turned ? 1 : 2) || rank(right) < 2) return null;
  if (!result && step.kind !== 'error') return null;
  const inner = [left.shape.at(-1), right.shape.at(turned ? -1 : -2)];
  return { left, right, bias, result, turned, inner, mixes: step.op === 'weighted_sum' || left.weights,
    dims: [left.dims.at(-1), right.dims.at(turned ? -1 : -2)], maps: step.op === 'linear' || step.op === 'project' };
}

/** The three sheets in front. */
export function sheetsOf({ left, right, result, turned }, at) {
  const views = { a: sheet(left, at), b: sheet(right, at, turned) };
  views.c = result && sheet(result, at);
  return views;
}

/** The terms of one number of the result: [left, right] pairs, or null where the values were not recorded. */
export function terms(product, at, i, j) {
  const { a, b } = sheetsOf(product, at);
  if (!product.left.values || !product.right.values || product.inner[0] !== product.inner[1]) return null;
  return range(product.inner[0]).map((d) => [a.value(i, d), b.value(d, j)]);
}

const bLabel = (product) => (product.turned ? `${shown(product.right)}ᵀ` : shown(product.right));

function drawArcs(scene, product, a, b, d) {
  const [m, n] = product.inner, fits = m === n, roles = product.dims.map((label) => axisRole(scene.trace, label));
  const clear = 14, coarse = a.block || b.block || Math.max(m, n) > 12;
  const spots = coarse ? [0.5 / 3, 0.5, 2.5 / 3] : null;
  range(coarse ? 3 : Math.max(m, n)).forEach((k) => {
    const x1 = a.x + (coarse ? spots[k] * m : k + 0.5) * a.w, y1 = a.y - clear;
    const x2 = b.x - clear, y2 = b.y + (coarse ? spots[k] * n : k + 0.5) * b.h, rx = x2 - x1, ry = y1 - y2;
    const on = (t) => [x2 - rx * Math.cos(t), y1 - ry * Math.sin(t)].map((v) => v.toFixed(1)).join(' ');
    if (fits) {
      scene.path(`arc.${product.dims[0]}.${k}`, `M${x1} ${y1}A${rx} ${ry} 0 0 1 ${x2} ${y2}`, `arc ${d === undefined ? '' : d === k ? 'on' : 'off'}`, roles[0]);
      return;
    }
    const [hasA, hasB] = coarse ? [true, true] : [k < m, k < n];
    if (hasA) scene.path(`half.a${k}`, `M${x1} ${y1}A${rx} ${ry} 0 0 1 ${on(hasB ? 0.72 : 0.5)}`, 'arc', roles[0]);
    if (hasB) scene.path(`half.b${k}`, `M${on(hasA ? 0.86 : 1.1)}A${rx} ${ry} 0 0 1 ${x2} ${y2}`, 'arc', roles[1]);
    if (hasA !== hasB) {
      const [u, v] = on(hasA ? 0.5 : 1.1).split(' ').map(Number);
      scene.path(`half.cross${k}`, `M${u - 5} ${v - 5}l10 10m0 -10l-10 10`, 'fault');
    }
  });
}

/** @param show which numbers of the result stand there already */
function drawCross(scene, product, { i, j, d, show = () => true, arcs = true } = {}) {
  const { a: left, b: right, c: result } = sheetsOf(product, scene.at), fits = product.inner[0] === product.inner[1];
  const tensors = [product.left, product.right, ...(product.result ? [product.result] : [])];
  const { w, h } = scene.fit(left.cols + right.cols, left.rows + right.rows, scene.width - scene.left - scene.gap - (scene.narrow ? 34 : 60), 400, tensors);
  const [cw, rh] = [unit(w, right.cols), unit(h, left.rows)];
  const bx = scene.left + left.cols * w + scene.gap, ay = scene.top + right.rows * h + scene.rise;
  const square = result && result.rowDim === result.colDim && roleOf(scene.trace, result.rowDim) === 'S';
  const near = (own, other) => (other === undefined ? '' : own === other ? 'on' : '');
  const a = scene.grid(left, scene.left, ay, {
    w, h: rh, nameBelow: true, col: { sum: true }, row: square ? { word: 'queries' } : {}, lit: { i, j: d },
    kind: (r, k) => (i === undefined ? '' : r === i ? near(k, d) : 'off'), pick: (r) => ({ i: r }),
  });
  const b = scene.grid(right, bx, scene.top, {
    w: cw, h, name: bLabel(product), row: { sum: true }, col: square ? { word: 'keys' } : {}, lit: { i: d, j },
    kind: (k, c) => (j === undefined ? '' : c === j ? near(k, d) : 'off'), pick: (k, c) => ({ j: c }),
  });
  if (!arcs) return { a, b };
  drawArcs(scene, product, a, b, d);
  const sum = fits ? say`Σ over ${dimName(scene.trace, product.dims[0])}`
    : say`${dimSize(scene.trace, product.dims[0], product.inner[0])} ≠ ${dimSize(scene.trace, product.dims[1], product.inner[1])}`;
  scene.text('sum', scene.narrow ? 0 : scene.left - 80, scene.top + (scene.narrow ? 10 : 18), sum, fits ? 'strong' : 'strong bad');
  if (!fits || !result) {
    scene.box('nothing', bx, ay, right.cols * cw, left.rows * rh, 'dashed');
    scene.text('nothing.text', bx + right.cols * cw / 2, ay + left.rows * rh / 2 + 4, 'no product', 'bad middle strong');
    return { a, b, c: { ...a, x: bx, right: bx + right.cols * cw, bottom: ay + left.rows * rh } };
  }
  const c = scene.grid(result, bx, ay, {
    w: cw, h: rh, nameBelow: true, words: false, lit: { i, j }, show, pick: (r, c) => ({ i: r, j: c }),
    row: { right: true, word: square && 'queries' }, col: { under: true, word: square && 'keys' },
  });
  if (i !== undefined) scene.band('row', a, { i });
  if (j !== undefined) scene.band('column', b, { j });
  if (i !== undefined && j !== undefined) scene.band('hit', c, { i, j });
  return { a, b, c };
}

/** Beside the cross where there is room, under it where there is none. */
function ledgerPlace(scene, { b, c }, cols) {
  const w = scene.narrow ? Math.min(44, (scene.width - 104) / cols) : 40;
  const x = Math.min(c.right + 122, scene.width - cols * w - 4);
  if (scene.wide && x - 90 > b.right + 12) return { x, y: b.y, w };
  return { x: scene.narrow ? 100 : 130, y: c.bottom + c.depth + (scene.narrow ? 92 : 96), w };
}

function drawSum(scene, product, places, i, j, d) {
  const pairs = terms(product, scene.at, i, j);
  if (!pairs || pairs.length > LEDGER) return;
  const result = sheetsOf(product, scene.at).c.value(i, j), bias = product.bias && product.bias.values ? product.bias.values[j] : 0;
  const now = (k) => d === undefined || k <= d;
  let sum = 0;
  const sums = pairs.map(([x, y], k) => { sum += x * y; return k === pairs.length - 1 ? result - bias : sum; });
  const { x, y, w } = ledgerPlace(scene, places, pairs.length), last = pairs.length - 1;
  const bottom = scene.ledger('ledger', x, y, w, product.dims[0], [
    { label: `${shown(product.left)}[${i}, d]`, values: pairs.map((pair) => pair[0]), digits: product.left.digits },
    { label: `${product.maps ? 'w' : bLabel(product)}[d, ${j}]`, values: pairs.map((pair) => pair[1]), digits: product.right.digits },
    { label: 'product', values: pairs.map(([p, q], k) => (now(k) ? p * q : null)) },
    { label: 'sum so far', values: sums.map((value, k) => (now(k) ? value : null)), ruled: true, on: (k) => now(k) && k === (d ?? last) },
  ], d);
  if (product.bias && product.bias.values) {
    scene.text('bias', x, bottom + 18, say`plus ${code(`${shown(product.bias)}[${j}]`)} = ${number(bias)} makes ${number(result)}`, 'ink');
  }
}

function drawMix(scene, product, places, i) {
  const { a, b, c } = sheetsOf(product, scene.at);
  if (!product.left.values || !product.right.values || a.cols > LEDGER || b.cols > 2 * LEDGER) return;
  const rows = range(a.cols).map((k) => ({
    label: `${number(a.value(i, k))} × ${shown(product.right)}[${k}]`, kind: a.value(i, k) ? 'ink' : '',
    values: range(b.cols).map((h) => a.value(i, k) * b.value(k, h)),
  }));
  rows.push({ label: `${shown(product.result)}[${i}]`, kind: 'ink', ruled: true, values: range(c.cols).map((h) => c.value(i, h)), on: () => true });
  const { x, y, w } = ledgerPlace(scene, places, b.cols);
  scene.ledger('ledger', x, y, w, b.colDim, rows);
  range(a.cols).forEach((k) => scene.box(`share${k}`, x + b.cols * w + 8, y + k * scene.line + scene.line / 2 - 6, Math.max(1, a.value(i, k) * 56), 12, 'segment', axisRole(scene.trace, a.colDim)));
}

// ---------- words

const name = (tensor) => code(shown(tensor));
const dims = (trace, product) => product.dims.map((label, n) => dimSize(trace, label, product.inner[n]));

function rowWord(trace, product, at, i) {
  const words = wordsOf(trace, sheet(product.left, at));
  return words ? `token ${i} (“${words[i]}”)` : `row ${i}`;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

function fitWords(trace, product) {
  const [inner] = dims(trace, product), label = dimName(trace, product.dims[0]);
  if (product.mixes) return say`Now ${label} is the inner dim: each weight in a row of ${name(product.left)} belongs to one row of ${name(product.right)}.`;
  if (product.maps) return say`${name(product.left)} ends in ${inner} and the turned weight begins with ${inner}: equal, so they multiply and ${label} is summed away.`;
  return say`The inner dims are both ${inner}, number by number, so ${name(product.left)} and ${code(bLabel(product))} multiply; what is outside them is left over.`;
}

function termWords(product, pairs, result, i, j, d) {
  const [x, y] = pairs[d], sum = pairs.slice(0, d + 1).reduce((all, [p, q]) => all + p * q, 0);
  const step = `${number(x)} × ${number(y)} = ${number(x * y)}`;
  const end = code(`${shown(product.result)}[${i}, ${j}]`);
  if (d === pairs.length - 1) return say`Add ${step}; ${end} is ${number(result)}.`;
  if (d > 0) return say`Add ${step}; the sum so far is ${number(sum)}.`;
  return say`Row ${i} of ${name(product.left)}, column ${j} of ${code(bLabel(product))}: start with ${step}.`;
}

function doneWords(trace, product) {
  const { a, b } = sheetsOf(product, {}), inner = dimName(trace, product.dims[0]);
  const [rows, cols] = [dimName(trace, a.rowDim ?? '1'), dimName(trace, b.colDim)];
  if (product.maps) return say`Every row goes through the same weight on its own: ${rows} stays, and ${inner} becomes ${cols}.`;
  if (product.mixes) return say`Every row leaves with ${dimSize(trace, b.colDim, b.cols)} numbers, a mix of the rows of ${name(product.right)}; the ${inner} that was summed over is gone.`;
  return say`Every row of ${name(product.left)} with every column of ${code(bLabel(product))}: a ${rows} × ${cols} grid, and ${inner} is gone.`;
}

// ---------- phases

const picksOf = (product) => { const { a, b } = sheetsOf(product, {}); return { i: a.rows, j: b.cols }; };
function pick(product, state) {
  const most = picksOf(product);
  return { i: clamp(state.i, 0, Math.max(0, most.i - 1)), j: clamp(state.j, 0, Math.max(0, most.j - 1)) };
}

function mismatch(trace, product) {
  const [left, right] = dims(trace, product);
  return [
    { say: () => say`${name(product.left)} is to meet ${name(product.right)}: each row of the first with each column of the second.`, draw: (scene) => drawCross(scene, product, { arcs: false }) },
    { say: () => say`${name(product.left)} ends in ${left}, ${name(product.right)} begins with ${right}: the inner dims differ, numbers are left without a partner, and torch refuses.`, draw: (scene) => drawCross(scene, product, {}) },
  ];
}

/** A single number of the result, term by term where there are few of them. */
function onePhases(product, pairsOf) {
  const n = product.inner[0], known = product.left.values && product.right.values && product.result.values;
  const only = (i, j) => (r, c) => r === i && c === j;
  if (!known) {
    return [{ picks: picksOf(product), say: (state) => { const { i, j } = pick(product, state); return say`Row ${i} and column ${j} give one number: ${n} products, added.`; },
      draw: (scene, state) => drawCross(scene, product, { ...pick(product, state), show: () => false }) }];
  }
  if (product.maps || n > TERMS) {
    return [{ picks: picksOf(product), say: (state, trace) => {
      const { i, j } = pick(product, state), value = sheetsOf(product, state.at).c.value(i, j);
      return say`${capital(rowWord(trace, product, state.at, i))} and column ${j} give one number: ${n} products, added to ${number(value)}.`;
    }, draw: (scene, state) => { const { i, j } = pick(product, state); drawSum(scene, product, drawCross(scene, product, { i, j, show: only(i, j) }), i, j); } }];
  }
  return range(n).map((d) => ({ picks: picksOf(product), say: (state) => {
    const { i, j } = pick(product, state);
    return termWords(product, pairsOf(state, i, j), sheetsOf(product, state.at).c.value(i, j), i, j, d);
  }, draw: (scene, state) => {
    const { i, j } = pick(product, state);
    drawSum(scene, product, drawCross(scene, product, { i, j, d, show: (r, c) => d === n - 1 && r === i && c === j }), i, j, d);
  } }));
}

function mixPhase(product) {
  return { picks: { i: picksOf(product).i }, say: (state, trace) => {
    const { i } = pick(product, state), { a } = sheetsOf(product, state.at), words = wordsOf(trace, sheet(product.right, state.at));
    const shares = range(a.cols).filter((k) => a.value(i, k) !== 0).slice(0, 6).map((k) => `${number(a.value(i, k))} of ${words ? `“${words[k]}”` : `row ${k}`}`);
    const whose = wordsOf(trace, a);
    return say`The ${shown(product.result)} of ${whose ? `“${whose[i]}”` : `row ${i}`} is a mix: ${shares.join(', ')}.`;
  }, draw: (scene, state) => { const { i } = pick(product, state); drawMix(scene, product, drawCross(scene, product, { i, show: (r) => r === i }), i); } };
}

/** @returns the phases of a product row */
export function productPhases(step, trace) {
  const product = productOf(step);
  if (!product) return null;
  if (product.inner[0] !== product.inner[1]) return mismatch(trace, product);
  if (!product.result) return null;
  const stack = product.result.dims.slice(0, -2).filter((label, axis) => product.result.shape[axis] > 1);
  const phases = [{ say: () => fitWords(trace, product), draw: (scene) => drawCross(scene, product, { show: () => false }) }];
  if (product.mixes && product.left.values && product.right.values) phases.push(mixPhase(product));
  else phases.push(...onePhases(product, (state, i, j) => terms(product, state.at, i, j)));
  phases.push({ say: () => doneWords(trace, product), draw: (scene) => drawCross(scene, product) });
  if (stack.length && !product.maps && !product.mixes && chosen(product.right, {}).length) {
    const label = stack[0];
    phases.push({ other: label, say: (state) => say`Each ${dimName(trace, label)} sheet is multiplied on its own, here sheet ${state.at[label] || 0}: the same rule, and no number crosses from sheet to sheet.`,
      draw: (scene) => drawCross(scene, product) });
  }
  return phases;
}

/** The sum that made a number of the result, as a sentence; null where its parts were not recorded. */
export function productSum(step, at, i, j) {
  const product = productOf(step);
  const pairs = product && product.result && terms(product, at, i, j);
  if (!pairs || pairs.length > 16) return null;
  const bias = product.bias && product.bias.values ? ` + ${number(product.bias.values[j])}` : '';
  return pairs.map(([x, y]) => `${number(x, product.left.digits)} × ${number(y, product.right.digits)}`).join(' + ') + bias;
}
