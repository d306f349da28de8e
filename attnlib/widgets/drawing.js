/* A drawing: marks become SVG nodes, patched by key. A mark that stays keeps its node, so it travels; what is new fades
   in, what is old leaves at once. CSS moves everything, so any motion can be interrupted by the next. */

import { range, shape, writeShape } from './kit.js';

const MARKS = {
  cell: {
    layer: 'cells',
    make: () => shape('g', {}, shape('rect'), shape('text')),
    set(node, mark) {
      const [rect, text] = node.children;
      const inset = /\b(on|wrong)\b/.test(mark.kind) ? 1.5 : 0; // else its neighbours would lie on its outline
      rect.setAttribute('x', inset);
      rect.setAttribute('y', inset);
      rect.setAttribute('width', mark.w - 2 * inset);
      rect.setAttribute('height', mark.h - 2 * inset);
      const pattern = /\b(masked|nan)\b/.exec(mark.kind);
      rect.setAttribute('fill', pattern && !/\bghost\b/.test(mark.kind) ? `url(#${pattern[1]})` : '');
      rect.style.fill = /\b(masked|nan|empty|ghost|inf)\b/.test(mark.kind) ? '' : mark.fill;
      text.setAttribute('x', mark.w / 2);
      text.setAttribute('y', mark.h / 2 + 4.5);
      text.setAttribute('font-size', mark.size);
      text.textContent = mark.text;
      return `cell ${mark.kind}${mark.ref && mark.ref.pick ? ' pickable' : ''}`;
    },
  },
  axis: {
    layer: 'lines',
    make: () => shape('g'),
    set(node, mark) {
      const segments = range(mark.n).map((i) => {
        const at = mark.upright ? mark.n - 1 - i : i;
        const [open, shut] = [i ? mark.gap : 0, i < mark.n - 1 ? mark.gap : 0];
        return shape('line', {
          x1: i * mark.step + Math.min(1.5, mark.step / 6) + open,
          x2: (i + 1) * mark.step - Math.min(1.5, mark.step / 6) - shut,
          class: mark.on === undefined || mark.on === at ? '' : 'dimmed',
        });
      });
      node.replaceChildren(...segments);
      if (mark.parts.length) {
        node.append(
          writeShape(
            shape('text', { x: (mark.n * mark.step) / 2, y: mark.under ? 18 : -8 - mark.away }),
            mark.parts,
          ),
        );
      }
      return `axis ${mark.role || ''}${mark.sum ? ' sum' : ''}`;
    },
  },
  text: {
    layer: 'texts',
    make: () => shape('text'),
    set(node, mark) {
      writeShape(node, mark.parts);
      return `label ${mark.kind}`;
    },
  },
  path: {
    layer: 'lines',
    make: () => shape('path'),
    set(node, mark) {
      node.setAttribute('d', mark.d);
      return `${mark.kind} ${mark.role || ''}`;
    },
  },
  box: {
    layer: 'lines',
    make: () => shape('rect'),
    set(node, mark) {
      node.setAttribute('width', Math.max(0, mark.w));
      node.setAttribute('height', Math.max(0, mark.h));
      node.setAttribute('rx', /\bdot\b/.test(mark.kind) ? mark.w / 2 : 0);
      return `${mark.kind} ${mark.role || ''}`;
    },
  },
};
const UNDER = ['sheet', 'front', 'block'];

function pattern(id, d) {
  return shape(
    'pattern',
    { id, width: 6, height: 6, patternUnits: 'userSpaceOnUse' },
    shape('path', { d, class: 'pattern' }),
  );
}

/** A drawing that turns one scene into the next: marks that stay keep their node, so they travel. */
export function drawing() {
  const layers = Object.fromEntries(
    ['sheets', 'cells', 'lines', 'texts', 'cursor'].map((name) => [name, shape('g')]),
  );
  const root = shape(
    'svg',
    { 'aria-hidden': 'true' },
    shape(
      'defs',
      {},
      pattern('masked', 'M-1 7L7 -1M-1 1L1 -1M5 7L7 5'),
      pattern('nan', 'M-1 7L7 -1M-1 -1L7 7'),
    ),
    ...Object.values(layers),
  );
  const nodes = new Map();
  const refs = new WeakMap();
  function patch({ marks, width, height, narrow }) {
    const seen = new Set();
    for (const mark of marks) {
      const how = MARKS[mark.type];
      let node = nodes.get(mark.key);
      if (!node) {
        node = how.make();
        nodes.set(mark.key, node);
        (UNDER.includes(mark.kind?.split(' ')[0]) ? layers.sheets : layers[how.layer]).append(node);
      }
      seen.add(mark.key);
      node.setAttribute('class', `mark ${how.set(node, mark)}`.trim());
      if (mark.x !== undefined) {
        node.style.transform = `translate(${mark.x}px, ${mark.y}px)${mark.type === 'axis' ? ` rotate(${mark.upright ? -90 : 0}deg)` : ''}`;
      }
      if (mark.ref) {
        refs.set(node, mark);
        node.dataset.cell = `${mark.ref.tensor.name}[${mark.ref.index}]`;
      }
    }
    for (const [key, node] of nodes) {
      if (!seen.has(key)) {
        node.remove();
        nodes.delete(key);
      }
    }
    root.setAttribute('width', width);
    root.setAttribute('height', height);
    root.setAttribute('viewBox', `0 0 ${width} ${height}`);
    root.setAttribute('class', narrow ? 'narrow' : '');
  }
  function point(mark) {
    layers.cursor.replaceChildren(
      ...(mark
        ? [
            shape('rect', {
              class: 'cursor',
              x: mark.x - 2,
              y: mark.y - 2,
              width: mark.w + 4,
              height: mark.h + 4,
            }),
          ]
        : []),
    );
  }
  const cellAt = ({ target }) => refs.get(target.closest('.cell'));
  return { root, patch, point, cellAt };
}
