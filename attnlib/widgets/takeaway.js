/* What a reader takes along: the table as Markdown, the drawing as an SVG file that needs nothing else. */

import { plain, say, write } from './kit.js';
import { shown, sizedShape } from './tensor.js';

const STYLED = [
  ...['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'text-anchor', 'paint-order'],
  ...['font-family', 'font-size', 'font-weight', 'font-style', 'font-variant-numeric'],
];
const clean = (text) =>
  String(text)
    .replace(/[\\|`*_<>[\]]/g, '\\$&')
    .replace(/\s+/g, ' ');

/** The steps as a Markdown table. */
function markdown(trace) {
  const rows = trace.steps.map((step) => [
    step.index,
    clean(step.variable),
    clean(step.code),
    clean(step.op),
    clean(step.inputs.map(shown).join(', ')),
    clean(step.outputs.map((output) => `(${output.dims.join(', ')})`).join(', ')),
    step.outputs.map(sizedShape).join(', '),
    clean(step.kind),
  ]);
  const head = ['', 'variable', 'code', 'operation', 'inputs', 'shape', 'sizes', 'memory'];
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |\n`).join('');
}

/** A copy of a drawing with its colours written into it. */
function svgText(root, words) {
  const copy = root.cloneNode(true);
  const [from, to] = [root, copy].map((node) => [node, ...node.querySelectorAll('*')]);
  from.forEach((node, n) => {
    const style = getComputedStyle(node);
    const own = STYLED.map((name) => `${name}:${style.getPropertyValue(name)}`);
    const moved = node.style && node.style.transform;
    to[n].setAttribute('style', own.join(';'));
    to[n].removeAttribute('class');
    if (moved) to[n].setAttribute('transform', moved.replace(/px/g, '').replace(/deg/g, ''));
  });
  const [width, height] = ['width', 'height'].map((side) => Number(root.getAttribute(side)));
  copy.setAttribute('viewBox', `-12 -12 ${width + 24} ${height + 24}`);
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.removeAttribute('aria-hidden');
  const ns = copy.namespaceURI;
  const title = document.createElementNS(ns, 'title');
  title.textContent = words;
  const paper = document.createElementNS(ns, 'rect');
  const box = { x: -12, y: -12, width: width + 24, height: height + 24 };
  for (const [name, value] of Object.entries(box)) paper.setAttribute(name, value);
  paper.setAttribute('fill', getComputedStyle(root.closest('.frame')).backgroundColor);
  copy.prepend(title, paper);
  return new XMLSerializer().serializeToString(copy);
}

/** Hand text over as a file. */
function saveFile(name, type, text) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Put text on the clipboard; false where the browser does not allow it. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Copy the table of a player; where the browser does not allow that, save it. */
export async function copy({ trace, id, part }) {
  const text = markdown(trace);
  const done = await copyText(text);
  if (!done) saveFile(`${id}.md`, 'text/markdown', text);
  const where = done ? 'on the clipboard, as Markdown' : 'saved as a Markdown file';
  write(part.reading, say`The table is ${where}.`);
  // The words may be out of sight: the button says it too.
  const { copy: tool } = part.tools;
  tool.textContent = done ? 'Copied' : 'Saved';
  setTimeout(() => (tool.textContent = 'Copy table'), 1500);
}

/** Save the figure of a player as it stands. */
export function save(player) {
  const text = svgText(player.part.drawing.root, plain(player.words()));
  saveFile(`${player.id}-${player.row.name}.svg`, 'image/svg+xml', text);
}
