/* A trace as data: reads the JSON of Trace.to_dict(), refuses what it is not, and finds which tensors share their memory.
   Everything here is pure; a trace may come from anywhere, so nothing in it is believed unchecked. */

import { decimals, isFaint } from './kit.js';
import { SHARES } from './tensor.js';

const MOST = { steps: 20000, axes: 64, values: 65536, text: 300, tensors: 64 };
const OUTLIER = 1e4; // a fill like -1e9 says nothing about the other numbers
const WORDS = { nan: NaN, inf: Infinity, '-inf': -Infinity };
const WEIGHTS = ['softmax', 'attention_weights'];

/** @typedef {{ name: string, shape: number[], dims: string[], strides: number[], offset: number, dtype: string, device: string,
 *              values: (number | boolean)[] | null, digits: number, storage: string, weights: boolean,
 *              closed?: boolean[] | null }} Tensor */
/** @typedef {{ index: number, file: string, line: number | null, code: string, variable: string, op: string, kind: string,
 *              note: string, module: string, params: object, inputs: Tensor[], outputs: Tensor[], steps: Step[] }} Step */
/** @typedef {{ title: string, roles: Object<string, string>, sizes: Object<string, number>, words: string[] | null,
 *              steps: Step[], warnings: object[], error: object | null, dropped: number, full: number }} Trace */

const isRecord = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (value, other = '') => (typeof value === 'string' ? value.slice(0, MOST.text) : other);
// No word that every object answers to: operations and kinds are looked up by theirs.
const word = (value, other) => (text(value, other) in {} ? other : text(value, other));
const whole = (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 53;

function fail(message) {
  throw new Error(`This is not a trace that can be played: ${message}.`);
}

function flatten(values, sizes) {
  const out = [];
  const walk = (node, depth) => {
    if (depth === sizes.length) {
      const value = typeof node === 'string' ? WORDS[node] : node;
      if (typeof value !== 'number' && typeof value !== 'boolean') fail('a value is no number');
      out.push(value);
      return;
    }
    if (!Array.isArray(node) || node.length !== sizes[depth]) {
      fail('the values do not have the shape they claim');
    }
    for (const child of node) walk(child, depth + 1);
  };
  walk(values, 0);
  return out;
}

/** @returns {Tensor} */
function readTensor(json) {
  if (!isRecord(json)) fail('a tensor is missing');
  const sizes = json.shape;
  if (!Array.isArray(sizes) || sizes.length > MOST.axes || !sizes.every(whole)) {
    fail('a shape is not a list of sizes');
  }
  const dims = Array.isArray(json.dims) && json.dims.length === sizes.length ? json.dims : sizes;
  let known = json.values !== null && json.values !== undefined;
  if (known && sizes.reduce((n, size) => n * size, 1) > MOST.values) known = false;
  const values = known ? flatten(json.values, sizes) : null;
  const strides =
    Array.isArray(json.strides) &&
    json.strides.length === sizes.length &&
    json.strides.every(Number.isInteger)
      ? json.strides
      : sizes.map((_, n) => sizes.slice(n + 1).reduce((all, size) => all * size, 1));
  return {
    name: text(json.name),
    shape: sizes,
    dims: dims.map((name, n) => text(name, String(sizes[n]))),
    strides,
    offset: whole(json.offset) ? json.offset : 0,
    dtype: text(json.dtype),
    device: text(json.device),
    values,
    digits: values ? decimals(values) : 2,
    storage: '',
    weights: false,
  };
}

/** Give every tensor the name of the memory it lives in: a view has that of its base, so its cells are the same cells. */
function place(step, latest) {
  for (const input of step.inputs) {
    const known = latest.get(input.name);
    input.storage = known ? known.storage : input.name;
    input.weights = Boolean(known && known.weights);
    input.closed = known && known.closed;
  }
  const [base] = step.inputs;
  for (const output of step.outputs) {
    output.storage = base && SHARES.includes(step.kind) ? base.storage : `${output.name}#${step.index}`;
    output.weights = WEIGHTS.includes(step.op) || (step.op === 'dropout' && Boolean(base) && base.weights);
    if (output.weights && base) {
      output.closed = base.closed || (base.values && base.values.map((value) => value === -Infinity));
    }
    latest.set(output.name, output);
  }
  [...step.inputs, ...step.outputs].forEach((tensor) => {
    if (tensor.weights && isFaint(tensor.values)) tensor.digits = 3; // parts of a whole are written alike
  });
}

/** Whether a row is one part of its line, so that no variable takes its result. */
const isPart = ({ kind, variable }) => kind !== 'error' && !/^\w+(, \w+)*$/.test(variable || '');

/** The line a row is shown with: a part of a line shows that part, an argument says whose it is. */
function lineOf(json) {
  const [, name] = (json.kind === 'input' && /^\s*(?:async )?def (\w+)/.exec(text(json.code))) || [];
  if (name) return text(`${text(json.variable) || 'an'} — argument of ${name}`);
  return text((isPart(json) && json.expression) || json.code);
}

/** @returns {Step} */
function readStep(json, index, latest, depth = 0) {
  if (!isRecord(json)) fail(`step ${index} is missing`);
  const tensors = (value) =>
    value === null || value === undefined ? [] : [value].flat().slice(0, MOST.tensors).map(readTensor);
  const children = Array.isArray(json.steps) && depth < 8 ? json.steps.slice(0, 1000) : [];
  const step = {
    index,
    file: text(json.file),
    line: whole(json.line) ? json.line : null,
    code: lineOf(json),
    op: word(json.op, 'step'),
    variable: text(json.variable),
    kind: word(json.kind, 'new'),
    note: text(json.note),
    module: text(json.module),
    params: isRecord(json.params) ? json.params : {},
    inputs: tensors(json.inputs),
    outputs: tensors(json.output),
    steps: [],
  };
  for (const input of step.inputs) {
    if (step.module && /^(weight|bias)$/.test(input.name)) {
      input.name = `${step.module}.${input.name}`;
    }
  }
  step.variable ||=
    step.outputs.map((output) => output.name).join(', ') || (step.kind === 'error' ? step.code : step.op);
  place(step, latest);
  const inside = children.length ? new Map(latest) : null;
  step.steps = children.map((child, n) => readStep(child, n + 1, inside, depth + 1));
  return step;
}

/** Words for the rows that are tokens: those of one sequence, or of all sequences one after another. */
function readWords(json) {
  if (!Array.isArray(json) || json.length === 0 || !json.every((word) => typeof word === 'string')) {
    return null;
  }
  return json.slice(0, 4096).map((word) => word.slice(0, 24));
}

/** The named dims that have one size. */
function readSizes(json) {
  const all = isRecord(json) ? Object.entries(json) : [];
  return Object.fromEntries(
    all.filter(([name, size]) => name !== '__proto__' && whole(size) && size > 0).slice(0, 12),
  );
}

/** The size at which a cell has its full colour: one for the whole trace, so that scaling is seen as paling. */
function fullColour(steps) {
  const sizes = steps
    .flatMap((step) => step.outputs)
    .flatMap((tensor) => tensor.values || [])
    .filter((value) => typeof value === 'number')
    .map(Math.abs)
    .filter((size) => size < OUTLIER)
    .sort((a, b) => a - b);
  return sizes.length ? Math.max(sizes[Math.floor(0.96 * (sizes.length - 1))], 1e-6) : 1;
}

/** @returns {Trace} throws an Error whose message a reader can use. */
export function readTrace(json) {
  if (!isRecord(json) || json.format !== 'attnlib-trace') fail('it does not say "attnlib-trace"');
  if (json.version !== 1) fail('it is of another version');
  if (!Array.isArray(json.steps) || json.steps.length === 0) fail('it has no steps');
  if (json.steps.length > MOST.steps) fail('it has too many steps');
  const latest = new Map();
  const steps = json.steps.map((step, n) => readStep(step, n + 1, latest));
  return {
    title: text(json.title, 'trace'),
    roles: isRecord(json.roles) ? json.roles : {},
    sizes: readSizes(json.sizes),
    words: readWords(json.tokens),
    steps,
    warnings: Array.isArray(json.warnings) ? json.warnings.filter(isRecord) : [],
    error: isRecord(json.error) ? json.error : null,
    dropped: whole(json.dropped) ? json.dropped : 0,
    full: fullColour(steps),
  };
}
