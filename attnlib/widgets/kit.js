/* What every widget shares: text with named dimensions in it, numbers as they are written, elements. */

export const ROLES = ['batch', 'S', 'n_embd', 'H', 'heads'];
export const range = (n) => Array.from({ length: Math.max(0, n) }, (_, i) => i);
export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

// ---------- text: a list of parts, so that no name from a trace is ever parsed

/** @typedef {{ text: string, kind: '' | 'code' | 'dim' | 'name', role?: string | null }} Part */

/** @returns {Part} */
export const code = (text) => ({ text: String(text), kind: 'code' });
/** @returns {Part} */
export const dim = (text, role) => ({ text: String(text), kind: 'dim', role });

/** Tagged template: literal text and strings are prose, parts and lists of parts stay what they are. */
export function say(strings, ...values) {
  const parts = [];
  strings.forEach((text, n) => {
    if (text) parts.push({ text, kind: '' });
    if (n >= values.length) return;
    for (const value of [values[n]].flat(Infinity)) {
      parts.push(value && value.kind !== undefined ? value : { text: String(value), kind: '' });
    }
  });
  return parts;
}

/** The same text for ears and for attributes. */
export const plain = (parts) => parts.map((part) => part.text).join('');

/** "a, b and c" as parts. */
export function list(items) {
  return items.flatMap((item, n) => [
    ...(n === 0 ? [] : [{ text: n === items.length - 1 ? ' and ' : ', ', kind: '' }]),
    ...[item].flat(),
  ]);
}

// ---------- numbers

/** A value as it stands in a cell: true minus, fixed decimals, words for what is no number. */
export function number(value, digits = 2) {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Number.isNaN(value)) return 'NaN';
  if (value === Infinity) return '+∞';
  if (value === -Infinity) return '−∞';
  const size = Math.abs(value);
  if (size >= 1e5) return value.toExponential(1).replace('e+', 'e').replace('-', '−');
  let text = value.toFixed(size >= 100 ? Math.min(digits, 1) : digits);
  if (Number(text) === 0 && size > 0) text = value.toFixed(digits + 1); // 0.00 is kept for exact zero
  if (Number(text) === 0) text = size > 0 ? value.toExponential(0) : text.replace('-', '');
  return text.replaceAll('-', '−');
}

/** A value with all the digits that were recorded. */
export const exact = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? String(value).replace('-', '−') : number(value);

/** The fewest decimals, so many at most, that write all of `values` exactly. */
export function decimals(values, most = 2) {
  const finite = values.filter((value) => typeof value === 'number' && Number.isFinite(value));
  return range(most).find((n) => finite.every((value) => Math.abs(value - value.toFixed(n)) < 1e-9)) ?? most;
}

/** Whether two decimals would write a number as 0.00 that is not 0. */
export const isFaint = (values) => values?.some((value) => value && Math.abs(value) < 0.005);

/** 1234567 as "1,234,567". */
export const grouped = (value) => Math.round(value).toLocaleString('en-US');

// ---------- elements

const SVG = 'http://www.w3.org/2000/svg';
const build = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
};
export const element = (tag, attributes = {}, ...children) =>
  build(document.createElement(tag), attributes, children);
export const shape = (tag, attributes = {}, ...children) =>
  build(document.createElementNS(SVG, tag), attributes, children);

export const button = (attributes, ...children) => element('button', { type: 'button', ...attributes }, ...children);

/** A table, the text alternative of a figure: `rows` begin with what they are called, a head of '' is no heading. */
export function table(caption, head, rows) {
  const line = (...cells) => element('tr', {}, ...cells);
  const body = rows.map(([first, ...rest]) =>
    line(element('th', { scope: 'row' }, first), ...rest.map((text) => element('td', {}, text))),
  );
  const heads = head.map((text) => (text ? element('th', { scope: 'col' }, text) : element('td')));
  return element(
    'table',
    {},
    element('caption', {}, caption),
    element('thead', {}, line(...heads)),
    element('tbody', {}, ...body),
  );
}

/** The class of a dimension: only the five roles have a colour. */
export const roleClass = (role) => (ROLES.includes(role) ? `dim ${role}` : 'dim');

/** Write parts into an element of the page or of a drawing. */
export function write(node, parts, make = element) {
  const tag = node.namespaceURI === SVG ? 'tspan' : 'span';
  node.replaceChildren(
    ...parts.map((part) => {
      if (part.kind === '') return document.createTextNode(part.text);
      const name = part.kind === 'code' && tag === 'span' ? 'code' : tag;
      return make(name, { class: part.kind === 'dim' ? roleClass(part.role) : part.kind }, part.text);
    }),
  );
  return node;
}
export const writeShape = (node, parts) => write(node, parts, shape);
