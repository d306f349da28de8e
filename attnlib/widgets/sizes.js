/* Dims live: the traced code at other sizes. Every shape, byte and operation is counted again from the rows' own names;
   nothing is run, so nothing but counts is shown. */

import { dim, element, grouped, say, write } from './kit.js';
import { axisRole, dimName, roleOf } from './tensor.js';

const STOPS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 768, 1024, 2048, 4096];
const BYTES = {
  bool: 1,
  uint8: 1,
  int8: 1,
  float16: 2,
  bfloat16: 2,
  int32: 4,
  float32: 4,
  float64: 8,
  int64: 8,
};
const EACH = {
  add: 1,
  sub: 1,
  mul: 1,
  div: 1,
  scale_scores: 1,
  softmax: 5,
  attention_weights: 5,
  layer_norm: 7,
};
const SUMS = ['linear', 'project', 'matmul', 'bmm', 'mm', 'attention_scores', 'weighted_sum'];
const ROOM = 16 * 2 ** 30; // bytes; beyond them the run itself is out of reach of most machines

/** The names a reader may set: those with one known size, at most six. */
const freeNames = (trace) =>
  Object.keys(trace.sizes)
    .filter((name) => trace.sizes[name] > 0)
    .slice(0, 6);

/** n_embd, where the heads of the trace cut it: it fixes H, so H cannot be chosen. */
function bound(trace) {
  const of = (role) => freeNames(trace).find((name) => roleOf(trace, name) === role);
  const [wide, heads, narrow] = [of('n_embd'), of('heads'), of('H')];
  if (!wide || !heads || !narrow) return null;
  return trace.sizes[wide] === trace.sizes[heads] * trace.sizes[narrow] ? { wide, heads, narrow } : null;
}

/** What a label says of the sizes: a product of names, numbers and shares, `S*n_embd//heads`. */
function toldBy(label, sizes) {
  const share = (factor) => factor.split('//').map((name) => sizes[name] ?? Number(name));
  return label.split('*').reduce((n, factor) => n * share(factor).reduce((a, b) => Math.floor(a / b)), 1);
}

/** The size of an axis at other sizes: what its label says of them, or the size that was recorded. */
function sizeAt({ dims, shape }, axis, sizes) {
  const size = toldBy(dims.at(axis), sizes);
  return Number.isNaN(size) ? shape.at(axis) : size;
}
const shapeAt = (tensor, sizes) => tensor.dims.map((_, axis) => sizeAt(tensor, axis, sizes));
const countAt = (tensor, sizes) => shapeAt(tensor, sizes).reduce((n, size) => n * size, 1);

function workAt(step, sizes) {
  const [output] = step.outputs;
  if (!output) return 0;
  const all = countAt(output, sizes);
  const [left, right] = step.inputs;
  if (SUMS.includes(step.op) && left && left.dims.length) return 2 * all * sizeAt(left, -1, sizes);
  if (step.op === 'scaled_dot_product_attention' && left && right && right.dims.length > 1) {
    const H = sizeAt(left, -1, sizes);
    const scores = (countAt(left, sizes) / H) * sizeAt(right, -2, sizes);
    return scores * (2 * H + 2 * sizeAt(output, -1, sizes) + 6);
  }
  return (EACH[step.op] || 0) * all;
}

/** Every row at these sizes: shape, new bytes, floating point operations. */
export function rowsAt(trace, sizes) {
  return trace.steps.map((step) => ({
    step,
    shapes: step.outputs.map((output) => shapeAt(output, sizes)),
    bytes: ['new', 'copy', 'input'].includes(step.kind)
      ? step.outputs.reduce((sum, output) => sum + countAt(output, sizes) * (BYTES[output.dtype] || 4), 0)
      : 0,
    work: workAt(step, sizes),
  }));
}

/** How many numbers the linear layers learn: each weight once. */
export function parametersAt(trace, sizes) {
  const weights = new Map();
  for (const step of trace.steps) {
    if (step.op === 'linear') step.inputs.slice(1).forEach((weight) => weights.set(weight.storage, weight));
  }
  return [...weights.values()].reduce((sum, weight) => sum + countAt(weight, sizes), 0);
}

/** What is to be said of a choice: [how bad it is, the sentence as parts]. */
export function verdict(trace, sizes, rows) {
  const of = (role) => freeNames(trace).find((name) => roleOf(trace, name) === role);
  const equal = (a, b) => of(a) && of(b) && sizes[of(a)] === sizes[of(b)];
  const cut = bound(trace);
  if (cut && !Number.isInteger(sizes[cut.narrow])) {
    return [
      'illegal',
      say`${size(trace, cut.wide, sizes)} cannot be cut into ${size(trace, cut.heads, sizes)}: the view would raise.`,
    ];
  }
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  if (bytes > ROOM) {
    return ['out of range', say`these results alone take ${memory(bytes)}, more than most machines have.`];
  }
  if (equal('S', 'H')) {
    return [
      'dangerous',
      say`${size(trace, of('S'), sizes)} and ${size(trace, of('H'), sizes)}: a forgotten transpose would multiply here without an error and give wrong scores.`,
    ];
  }
  if (equal('S', 'heads')) {
    return [
      'dangerous',
      say`${size(trace, of('S'), sizes)} and ${size(trace, of('heads'), sizes)}: two swapped axes would go unnoticed.`,
    ];
  }
  return ['', []];
}

const size = (trace, name, sizes) => [
  ...dimName(trace, name),
  dim(` = ${grouped(sizes[name])}`, axisRole(trace, name)),
];

/** Bytes as people say them. */
function memory(bytes) {
  const unit = ['B', 'KB', 'MB', 'GB', 'TB'].findLastIndex((_, n) => n === 0 || bytes >= 1024 ** n);
  return `${unit ? (bytes / 1024 ** unit).toPrecision(3) : bytes} ${['B', 'KB', 'MB', 'GB', 'TB'][unit]}`;
}

// ---------- view

const cell = (text, right) => element('td', { class: right ? 'right' : '' }, text);

function costRow(trace, { step, shapes, bytes, work }, all) {
  const bar = element('i', { class: 'bar-of' });
  bar.style.width = `${all ? (72 * work) / all : 0}px`;
  const shape = write(
    element('td'),
    step.outputs.length ? shapeParts(trace, step.outputs[0], shapes[0]) : [],
  );
  const head = element('th', { scope: 'row' }, step.variable);
  const share = element('td', {}, bar, all && work ? ` ${Math.round((100 * work) / all)} %` : '');
  return element(
    'tr',
    {},
    head,
    shape,
    cell(bytes ? grouped(bytes) : '0', true),
    cell(grouped(work), true),
    share,
  );
}

function shapeParts(trace, tensor, sizes) {
  const names = tensor.dims.flatMap((label, n) => [...(n ? say`, ` : []), ...dimName(trace, label)]);
  return say`(${names}) = (${sizes.map((n) => (Number.isInteger(n) ? grouped(n) : '?')).join(', ')})`;
}

function slider(trace, name, value, derived) {
  const stops = STOPS.includes(value) ? STOPS : [...STOPS, value].sort((a, b) => a - b);
  const range = element('input', {
    type: 'range',
    max: stops.length - 1,
    'aria-label': name,
    disabled: derived && '',
  });
  range.className = axisRole(trace, name) || '';
  range.value = stops.indexOf(value);
  const out = element('output', { class: `dim ${axisRole(trace, name) || ''}` });
  const row = element('div', { class: 'slider' }, write(element('span'), dimName(trace, name)), out, range);
  return { row, range, out, stops };
}

/** The table under the sliders; `signal` ends its listeners. */
function sizesView(trace, signal) {
  const sizes = { ...trace.sizes };
  const cut = bound(trace);
  const body = element('tbody');
  const foot = element('p', {});
  const says = element('p', { class: 'verdict', role: 'status' });
  const sliders = freeNames(trace).map((name) => [
    name,
    slider(trace, name, sizes[name], cut && name === cut.narrow),
  ]);
  const head = ['variable', 'shape', 'new bytes', 'FLOPs', 'share of FLOPs'].map((text) =>
    element('th', { scope: 'col' }, text),
  );

  function show() {
    if (cut) sizes[cut.narrow] = sizes[cut.wide] / sizes[cut.heads];
    const rows = rowsAt(trace, sizes);
    const [bad, words] = verdict(trace, sizes, rows);
    const legal = bad !== 'illegal';
    const all = rows.reduce((sum, row) => sum + row.work, 0);
    for (const [name, { range, out }] of sliders) {
      out.textContent = Number.isInteger(sizes[name]) ? grouped(sizes[name]) : 'none';
      range.setAttribute('aria-valuetext', out.textContent);
    }
    write(says, bad ? say`${bad[0].toUpperCase()}${bad.slice(1)}: ${words}` : []);
    body.replaceChildren(...(legal ? rows.map((row) => costRow(trace, row, all)) : []));
    write(
      foot,
      legal
        ? say`Together ${memory(rows.reduce((sum, row) => sum + row.bytes, 0))} of results, ${grouped(all)} FLOPs forward, ${grouped(parametersAt(trace, sizes))} parameters.`
        : [],
    );
  }

  for (const [name, { range, stops }] of sliders) {
    range.addEventListener(
      'input',
      () => {
        sizes[name] = stops[range.value];
        show();
      },
      { signal },
    );
  }
  show();
  return element(
    'div',
    { class: 'sizes' },
    element('div', {}, ...sliders.map(([, { row }]) => row), says),
    element(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Shapes and costs at these sizes' },
      element('table', {}, element('thead', {}, element('tr', {}, ...head)), body),
      foot,
    ),
  );
}

/** Fill the part of a player that is folded under its figure, when it is first opened. */
export function showSizes({ part, trace, signal }) {
  if (part.sizes.children.length === 1) part.sizes.append(sizesView(trace, signal));
}
