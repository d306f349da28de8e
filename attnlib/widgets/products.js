/* Products: a linear map, a matmul, a weighted sum; what their phases say and in which order they come. */

import { drawCross } from './cross.js';
import { clamp, code, number, range, say } from './kit.js';
import { bLabel, productOf, sheetsOf, terms } from './operands.js';
import { drawMix, drawSum } from './sums.js';
import { chosen, dimName, dimSize, named, sheet, shown, wordsOf } from './tensor.js';
import { warningsAt } from './warned.js';

const TERMS = 6; // up to so many terms a sum grows one by one

// ---------- words

const dims = (trace, product) => product.dims.map((label, n) => dimSize(trace, label, product.inner[n]));

function rowWord(trace, product, at, i) {
  const words = wordsOf(trace, sheet(product.left, at));
  return words ? `token ${i} (“${words[i]}”)` : `row ${i}`;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

function fitWords(trace, product, step) {
  const [inner, other] = dims(trace, product);
  const label = dimName(trace, product.dims[0]);
  if (product.dims[0] !== product.dims[1] && warningsAt(trace, step).length) {
    return say`${inner} of ${named(product.left)} meets ${other} of ${code(bLabel(product))}: the sizes are equal, so torch multiplies, but they are two dims.`;
  }
  if (product.mixes) {
    return say`Now ${label} is the inner dim: each weight in a row of ${named(product.left)} belongs to one row of ${named(product.right)}.`;
  }
  if (product.maps) {
    return say`${named(product.left)} ends in ${inner} and the turned weight begins with ${inner}: equal, so they multiply and ${label} is summed away.`;
  }
  return say`The inner dims are both ${inner}, number by number, so ${named(product.left)} and ${code(bLabel(product))} multiply; what is outside them is left over.`;
}

function termWords(product, pairs, result, i, j, d) {
  const [x, y] = pairs[d];
  const sum = pairs.slice(0, d + 1).reduce((all, [p, q]) => all + p * q, 0);
  const step = `${number(x)} × ${number(y)} = ${number(x * y)}`;
  const end = code(`${shown(product.result)}[${i}, ${j}]`);
  if (d === pairs.length - 1) return say`Add ${step}; ${end} is ${number(result)}.`;
  if (d > 0) return say`Add ${step}; the sum so far is ${number(sum)}.`;
  return say`Row ${i} of ${named(product.left)}, column ${j} of ${code(bLabel(product))}: start with ${step}.`;
}

function doneWords(trace, product) {
  const { a, b } = sheetsOf(product, {});
  const inner = dimName(trace, product.dims[0]);
  const [rows, cols] = [dimName(trace, a.rowDim ?? '1'), dimName(trace, b.colDim)];
  if (product.maps) {
    const bias = product.bias ? say`, plus ${named(product.bias)}, one number for each column` : [];
    return say`Every row goes through the same weight on its own${bias}: ${rows} stays, and ${inner} becomes ${cols}.`;
  }
  if (product.mixes) {
    return say`Every row leaves with ${dimSize(trace, b.colDim, b.cols)} numbers, a mix of the rows of ${named(product.right)}; the ${inner} that was summed over is gone.`;
  }
  return say`Every row of ${named(product.left)} with every column of ${code(bLabel(product))}: one grid of ${rows} × ${cols}, and ${inner} is gone.`;
}

// ---------- phases

const picksOf = (product) => {
  const { a, b } = sheetsOf(product, {});
  return { i: a.rows, j: b.cols };
};
function pick(product, state) {
  const most = picksOf(product);
  return {
    i: clamp(state.i, 0, Math.max(0, most.i - 1)),
    j: clamp(state.j, 0, Math.max(0, most.j - 1)),
  };
}

function mismatch(trace, product) {
  const [left, right] = dims(trace, product);
  return [
    {
      say: () =>
        say`${named(product.left)} is to meet ${named(product.right)}: each row of the first with each column of the second.`,
      draw: (scene) => drawCross(scene, product, { arcs: false }),
    },
    {
      say: () =>
        say`${left} stands last in ${named(product.left)}, ${right} last but one in ${code(bLabel(product))}: the inner dims differ, some numbers find no partner, and torch refuses.`,
      draw: (scene) => drawCross(scene, product, {}),
    },
  ];
}

const biasWords = ({ bias }, j) => (bias ? say` and ${code(`${shown(bias)}[${j}]`)}` : []);

/** A single number of the result, term by term where there are few of them. */
function onePhases(product, pairsOf) {
  const n = product.inner[0];
  const known = product.left.values && product.right.values && product.result.values;
  const only = (i, j) => (r, c) => r === i && c === j;
  if (!known) {
    return [
      {
        picks: picksOf(product),
        say: (state) => {
          const { i, j } = pick(product, state);
          return say`Row ${i} and column ${j} give one number: ${n} products${biasWords(product, j)} add up to it.`;
        },
        draw: (scene, state) => drawCross(scene, product, { ...pick(product, state), show: () => false }),
      },
    ];
  }
  if (product.maps || n > TERMS) {
    return [
      {
        picks: picksOf(product),
        say: (state, trace) => {
          const { i, j } = pick(product, state);
          const value = sheetsOf(product, state.at).c.value(i, j);
          return say`${capital(rowWord(trace, product, state.at, i))} and column ${j} give one number: ${n} products${biasWords(product, j)} add up to ${number(value)}.`;
        },
        draw: (scene, state) => {
          const { i, j } = pick(product, state);
          drawSum(scene, product, drawCross(scene, product, { i, j, show: only(i, j) }), i, j);
        },
      },
    ];
  }
  return range(n).map((d) => ({
    picks: picksOf(product),
    say: (state) => {
      const { i, j } = pick(product, state);
      return termWords(product, pairsOf(state, i, j), sheetsOf(product, state.at).c.value(i, j), i, j, d);
    },
    draw: (scene, state) => {
      const { i, j } = pick(product, state);
      const show = d === n - 1 ? only(i, j) : () => false;
      drawSum(scene, product, drawCross(scene, product, { i, j, d, show }), i, j, d);
    },
  }));
}

function mixPhase(product) {
  return {
    picks: { i: picksOf(product).i },
    say: (state, trace) => {
      const { i } = pick(product, state);
      const { a } = sheetsOf(product, state.at);
      const words = wordsOf(trace, sheet(product.right, state.at));
      const shares = range(a.cols)
        .filter((k) => a.value(i, k) !== 0)
        .slice(0, 6)
        .map((k) => `${number(a.value(i, k), product.left.digits)} of ${words ? `“${words[k]}”` : `row ${k}`}`);
      const whose = wordsOf(trace, a);
      return say`The ${shown(product.result)} of ${whose ? `“${whose[i]}”` : `row ${i}`} is a mix: ${shares.join(', ')}.`;
    },
    draw: (scene, state) => {
      const { i } = pick(product, state);
      drawMix(scene, product, drawCross(scene, product, { i, show: (r) => r === i }), i);
    },
  };
}

/** @returns the phases of a product row */
export function productPhases(step, trace) {
  const product = productOf(step);
  if (!product) return null;
  if (product.inner[0] !== product.inner[1]) return mismatch(trace, product);
  if (!product.result) return null;
  const stack = product.result.dims.slice(0, -2).filter((label, axis) => product.result.shape[axis] > 1);
  const phases = [
    {
      say: () => fitWords(trace, product, step),
      draw: (scene) => drawCross(scene, product, { show: () => false }),
    },
  ];
  if (product.mixes && product.left.values && product.right.values) phases.push(mixPhase(product));
  else phases.push(...onePhases(product, (state, i, j) => terms(product, state.at, i, j)));
  phases.push({ say: () => doneWords(trace, product), draw: (scene) => drawCross(scene, product) });
  if (stack.length && !product.maps && !product.mixes && chosen(product.right, {}).length) {
    const label = stack[0];
    phases.push({
      other: label,
      say: (state) =>
        say`Each ${dimName(trace, label)} sheet is multiplied on its own, here sheet ${state.at[label] || 0}: the same rule, and no number crosses from sheet to sheet.`,
      draw: (scene) => drawCross(scene, product),
    });
  }
  return phases;
}

/** The sum that made a number of the result, as a sentence; null where its parts were not recorded. */
export function productSum(step, at, i, j) {
  const product = productOf(step);
  const pairs = product && product.result && terms(product, at, i, j);
  if (!pairs || pairs.length > 16) return null;
  const bias = product.bias && product.bias.values ? ` + ${number(product.bias.values[j])}` : '';
  return (
    pairs
      .map(([x, y]) => `${number(x, product.left.digits)} × ${number(y, product.right.digits)}`)
      .join(' + ') + bias
  );
}
