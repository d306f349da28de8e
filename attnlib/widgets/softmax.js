/* Softmax, a row at a time: shift, exponentiate, normalise; then the row fills one bar of length 1. */

import { flow, front } from './flow.js';
import { drawLedger } from './ledger.js';
import { partly } from './masks.js';
import { clamp, number, range, say } from './kit.js';
import { axisRole, brief, dimSize, isPair, rank, sheet, shown, wordsOf } from './tensor.js';

/** One row of a softmax, step by step. */
export function softmax(values) {
  const top = Math.max(...values);
  const shifted = values.map((v) => (top === -Infinity ? -Infinity : v - top));
  const powers = shifted.map(Math.exp);
  const sum = powers.reduce((a, b) => a + b, 0);
  return { top, shifted, powers, sum, weights: powers.map((p) => (sum === 0 ? 0 : p / sum)) };
}

export const SLIVER = 2.5; // the least that a part of a bar is drawn with: its paper edges take 1.5

function drawBars(scene, place, view, rows) {
  const x = place.right + (scene.narrow ? 12 : 46) + place.depth;
  const width = Math.min(220, scene.width - x - (scene.narrow ? 6 : 56));
  const words = wordsOf(scene.trace, { ...view, rowDim: view.colDim, rows: view.cols });
  const role = axisRole(scene.trace, view.colDim);
  if (width < 30) return;
  for (const i of rows) {
    const top = place.y + i * place.h;
    let left = x;
    const shares = range(view.cols).map((j) => view.value(i, j));
    const open = shares.filter(Boolean).length;
    const least = Math.min(SLIVER, width / (4 * open));
    shares.forEach((share, j) => {
      const w = share > 0 ? least + share * (width - least * open) : 0;
      if (w) scene.box(`bar${i}.${j}`, left, top + 8, w, place.h - 16, 'segment', role);
      if (w > 50 && words && scene.wide) {
        scene.text(`bar${i}.word${j}`, left + 5, top + 4, words[j]);
      }
      left += w;
    });
    scene.path(
      `bar${i}.ends`,
      `M${x} ${top + 4}v${place.h - 8}M${x + width} ${top + 4}v${place.h - 8}`,
      'rule',
    );
    if (!scene.narrow) {
      scene.text(
        `bar${i}.sum`,
        x + width + 8,
        top + place.h / 2 + 4,
        `= ${number(shares.reduce((sum, share) => sum + share, 0))}`,
        'ink',
      );
    }
  }
  if (scene.narrow) scene.text('bar.sum', x, place.y - 8, 'sum 1');
}

function drawSoftmax(scene, step, i, part) {
  const pick = (r) => ({ i: r });
  const [input] = step.inputs;
  const [output] = step.outputs;
  const view = sheet(output, scene.at);
  const all = i === undefined;
  const [a, b] = flow(
    scene,
    [
      front(scene, input, {
        lit: { i },
        kind: (r) => (all || r === i ? '' : 'off'),
        pick,
      }),
      { sign: say`→` },
      front(scene, output, {
        lit: { i },
        show: (r) => all || (r === i && part > 2),
        pick,
      }),
    ],
    scene.top + 6,
  );
  if (all || part > 2) {
    if (!b.block && view.cols <= 16) drawBars(scene, b, view, all ? range(view.rows) : [i]);
  }
  if (all) return;
  scene.band('row', a, { i });
  const rowOf = sheet(input, scene.at);
  const values = range(view.cols).map((j) => rowOf.value(i, j));
  const made = softmax(values);
  const masked = (j) => values[j] === -Infinity;
  if (values.length > 12) return;
  const w = Math.min(scene.cellWidth, (scene.width - scene.left - 60) / values.length);
  const bottom = Math.max(a.bottom, b.bottom);
  drawLedger(scene, 
    'ledger',
    scene.narrow ? 120 : scene.left + 60,
    bottom + (scene.narrow ? 74 : 78),
    w,
    view.colDim,
    [
      { label: `${brief(shown(input), 12)}[${i}]`, values },
      {
        label: `− max (${number(made.top)})`,
        values: made.shifted.map((v) => (part > 0 ? v : null)),
      },
      { label: 'exp', values: made.powers.map((v) => (part > 1 ? v : null)), masked },
      {
        label: `÷ sum (${part > 1 ? number(made.sum) : '…'})`,
        values: range(view.cols).map((j) => (part > 2 ? view.value(i, j) : null)),
        digits: output.digits,
        ruled: true,
        masked,
      },
    ],
    undefined,
    isPair(scene.trace, view) && 'keys',
  );
}

export function softmaxPhases(step, trace) {
  const [input] = step.inputs;
  const [output] = step.outputs;
  const n = rank(output);
  const along = step.params.dim ?? n - 1;
  if (!input || n === 0 || (along + n) % n !== n - 1) return null;
  const whole = {
    say: () =>
      say`Every row is its own distribution; each sums to 1 along the last axis, ${dimSize(trace, output.dims[n - 1], output.shape[n - 1])}.`,
    draw: (scene) => drawSoftmax(scene, step),
  };
  if (!input.values || !output.values) {
    return [
      {
        ...whole,
        draw: (scene) => flow(scene, [front(scene, input), { sign: say`→` }, front(scene, output)]),
      },
    ];
  }
  const pick = (state) => clamp(state.i, 0, Math.max(0, sheet(output, state.at).rows - 1));
  const row = partly(sheet(input, {}), (v) => v > -Infinity);
  const masked = input.values.includes(-Infinity);
  return [
    [
      say`Softmax takes one row at a time; shifting it by its maximum changes nothing in the end and keeps exp from overflowing.`,
      1,
    ],
    [
      say`exp turns every score into a number above 0${masked ? ', and −∞ into exactly 0: the hatched keys are out' : ''}.`,
      2,
    ],
    [say`Divided by their sum, the numbers of the row are weights: together exactly one bar of length 1.`, 3],
  ]
    .map(([words, part]) => ({
      picks: { i: sheet(output, {}).rows },
      row,
      say: () => words,
      draw: (scene, state) => drawSoftmax(scene, step, pick(state), part),
    }))
    .concat([whole]);
}
