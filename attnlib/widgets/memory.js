/* Memory: the strip of numbers that a tensor is read from, its strides as jumps, and who reads which part. */

import { dim, plain, range, say } from './kit.js';
import { cellsOf, isOpen } from './open.js';
import { originOf } from './origins.js';
import { SHARES, address, axisRole, chosen, indices, named, namedShape, namedStrides, rank, ravel } from './tensor.js';

const STRIP = 64; // memory is drawn number by number up to so many numbers

/** How many of n cells stand in a line of `most` at most: lines are as equal as can be. */
function evenly(n, most) {
  const even = range(most + 1).findLast((per) => per > most / 2 && n % per === 0);
  return n <= most ? n : even || Math.ceil(n / Math.ceil(n / most));
}

/** The strip: addresses in order, each with its value. `order` lists the origin of every number, for a copy. */
function drawStrip(scene, step, y, { order, on, label, heads }) {
  const [input] = step.inputs;
  const w0 = scene.width - 4;
  const known = new Map(indices(input.shape).map((index) => [address(input, index), index]));
  const least = scene.narrow ? 29 : 34;
  const per = evenly(order.length, Math.max(1, Math.floor(w0 / least)));
  const w = Math.max(least, Math.min(scene.cellWidth, Math.floor(w0 / Math.min(per, 24))));
  const line = scene.line + 46;
  const x =
    per * w + scene.left < scene.width - 150 || (per === order.length && per * w + scene.left <= scene.width)
      ? scene.left
      : 2;
  const spot = (n) => ({ x: x + (n % per) * w, y: y + Math.floor(n / per) * line });
  const values = input.values;
  const start = Math.min(...order);
  scene.text('memory.label', x, y - 42, label);
  order.forEach((from, n) => {
    const at = spot(n);
    const index = known.get(from);
    const value = index && values ? values[ravel(index, input.shape)] : null;
    scene.cell(`memory.${input.storage}@${from}`, at.x, at.y, value, {
      w,
      h: scene.line,
      digits: input.digits,
      fill: heads && heads.fill(from),
      kind: on ? (on.includes(from) ? 'on' : 'off') : '',
      ref: index && { tensor: input, index },
    });
    if (n % per === 0 || order.length <= 24 || n % 4 === 0) {
      scene.text(
        `memory.at${n}`,
        at.x + w / 2,
        at.y + scene.line + 14,
        String(label.copy ? n : start + n),
        'middle',
      );
    }
  });
  return { spot, w, x, per, bottom: spot(order.length - 1).y + scene.line + 20, end: x + per * w };
}

/** A jump of one stride, above the strip or below it, in the colour of the axis it walks along. */
function drawHop(scene, key, strip, from, to, label, above, stride) {
  const [a, b] = [strip.spot(from), strip.spot(to)];
  if (a.y !== b.y) return;
  const [x1, x2] = [a.x + strip.w / 2, b.x + strip.w / 2];
  const y = above ? a.y - 3 : a.y + scene.line + 20;
  const r = Math.abs(x2 - x1) / 2;
  const role = axisRole(scene.trace, label);
  const tip = above ? '-5 -5m5 5l3 -7' : '-5 5m5 -5l3 7';
  scene.path(key, `M${x1} ${y}A${r} ${Math.min(r, 26)} 0 0 ${above ? 1 : 0} ${x2} ${y}l${tip}`, 'hop', role);
  if (stride !== undefined) {
    scene.text(`${key}.stride`, x2 + 10, above ? a.y - 12 : y + 14, [dim(`stride ${stride}`, role)], 'strong');
  }
}

function drawHops(scene, step, strip, start, tensor, walk) {
  const n = rank(tensor);
  if (n < 2) return;
  const [row, col] = [tensor.strides[n - 2], tensor.strides[n - 1]];
  const size = (axis) => tensor.shape[axis];
  if (walk) {
    for (const j of range(Math.min(size(n - 1) - 1, 5))) {
      drawHop(
        scene,
        `hop.${tensor.dims[n - 1]}.${j}`,
        strip,
        j * col,
        (j + 1) * col,
        tensor.dims[n - 1],
        true,
        j === Math.min(size(n - 1) - 1, 5) - 1 ? col : undefined,
      );
    }
    return;
  }
  const [far, near] = row >= col ? [n - 2, n - 1] : [n - 1, n - 2];
  for (const [axis, key] of [
    [far, '0'],
    [near, 'near'],
  ]) {
    const [label, stride] = [tensor.dims[axis], tensor.strides[axis]];
    if (size(axis) > 1) drawHop(scene, `hop.${label}.${key}`, strip, 0, stride, label, axis === far, stride);
  }
}

function drawClaims(scene, strip, order, heads) {
  const head = order.map((from) => heads.of.get(from));
  const role = 'heads';
  let from = 0;
  range(order.length + 1)
    .slice(1)
    .forEach((n) => {
      if (n < order.length && head[n] === head[from] && n % strip.per !== 0) return;
      const [a, b] = [strip.spot(from), strip.spot(n - 1)];
      const right = b.x + strip.w - 3;
      if (head[from] !== undefined) {
        scene.path(`claim${from}`, `M${a.x + 3} ${a.y - 5}v-5H${right}v5`, 'claim', role);
        scene.text(
          `claim${from}.text`,
          (a.x + right) / 2,
          a.y - 14,
          [dim(right - a.x > 52 ? `head ${head[from]}` : head[from], role)],
          'middle strong',
        );
      }
      from = n;
    });
}

/** The shapes with their strides: beside each other where there is room, else one under the other. */
function drawStrides(scene, tensors, x, y, apart) {
  const shapes = tensors.map((tensor) => say`${named(tensor)} ${namedShape(scene.trace, tensor)}`);
  const wide = shapes.map((shape) => 7 * plain(shape).length + 20);
  const beside = apart && x + wide[0] + (wide[1] || 0) <= scene.width;
  tensors.forEach((tensor, n) => {
    const [tx, ty] = beside ? [x + n * wide[0], y] : [x, y + n * 44];
    scene.text(`strides${n}.shape`, tx, ty, shapes[n], '');
    scene.text(`strides${n}.strides`, tx, ty + 17, say`strides ${namedStrides(scene.trace, tensor)}`, '');
  });
}

/** Only what lies in the sheets that are drawn is shown of a stack. */
function inFront(tensor, scene) {
  const kept = isOpen(scene.trace, tensor) ? 3 : 2;
  const sheets = chosen(tensor, scene.at, kept).filter((_, axis) => tensor.shape[axis] > 1);
  return sheets.length ? `, sheet ${sheets.join(', ')} in front` : '';
}

/** @param stage 'before', 'after' or 'walk', as the player tells it; 'made' draws the strides of what was made */
export function drawMemory(scene, step, stage, bottom, heads) {
  const { at } = scene;
  const [input] = step.inputs;
  const [output] = step.outputs;
  const copies = !SHARES.includes(step.kind);
  const origin = originOf(step, output);
  const tensors = stage === 'before' ? [input] : [input, output];
  const y = bottom + (scene.narrow ? 84 : 86);
  const inside = input.values ? cellsOf(scene, input, at).map((index) => address(input, index)) : [];
  const [low, high] = inside.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  if (!inside.length || high - low + 1 > STRIP) {
    drawStrides(scene, tensors, scene.left, bottom + 62, scene.wide);
    return;
  }
  const moved = copies && origin && stage !== 'before';
  const order = moved
    ? cellsOf(scene, output, at)
        .sort((a, b) => address(output, a) - address(output, b))
        .map(origin)
    : range(high - low + 1).map((n) => low + n);
  const label = Object.assign(
    say`memory of ${named(moved ? output : input)}${moved ? ', a second storage' : inFront(input, scene)}`,
    { copy: moved },
  );
  const walk =
    stage === 'walk'
      ? range(output.shape.at(-1)).map((j) => address(output, [...chosen(output, at), 0, j]))
      : undefined;
  const strip = drawStrip(scene, step, y, { order, on: walk, label, heads });
  if (heads && stage !== 'before') drawClaims(scene, strip, order, heads);
  else if (!heads && !moved) {
    drawHops(scene, step, strip, low, ['walk', 'made'].includes(stage) ? output : input, stage === 'walk');
  }
  const beside = strip.end + 36 < scene.width - 150;
  drawStrides(scene, tensors, beside ? strip.end + 36 : strip.x, beside ? y + 4 : strip.bottom + 40, !beside);
}
