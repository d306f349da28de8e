/* What a trace warns of: the sentences of a row, and red dashes on the numbers that are not where their names say. */

import { originOf } from './origins.js';
import { address, rank } from './tensor.js';

/** What a line of the trace is warned of, as sentences. */
export const warningsAt = (trace, step) =>
  trace.warnings
    .filter((warning) => warning.line === step.line && warning.line !== null && step.code.includes(warning.code))
    .map((warning) => String(warning.message).slice(0, 400));

/** The index that a number should have come from, where heads are cut out of a row or laid side by side in it. */
function due(input, output, index) {
  const lead = index.slice(0, -3);
  if (rank(output) === rank(input) + 1) {
    const [h, s, d] = index.slice(-3);
    return [...lead, s, h * output.shape.at(-1) + d];
  }
  const [s, e] = index.slice(-2);
  const H = input.shape.at(-1);
  return [...index.slice(0, -2), Math.floor(e / H), s, e % H];
}

/** Whether a number of a warned row is in the wrong place: of a reshape those that should lie elsewhere, of any other
 * operation all, for their sum is over the wrong dim. */
export function isWrong(step, output) {
  const [input] = step.inputs;
  const origin = input && originOf(step, output);
  const cut = input && Math.abs(rank(output) - rank(input)) === 1;
  const wide = (tensor) => tensor.shape.at(-1);
  const fits =
    cut && (rank(output) > rank(input) ? output.shape.at(-3) * wide(output) === wide(input) : input.shape.at(-3) * wide(input) === wide(output));
  if (!origin || !fits) return () => true;
  return (index) => origin(index) !== address(input, due(input, output, index));
}

/** Let a phase of a warned row dash what is wrong. */
export function dashed(phase, step) {
  const wrong = new Map(step.outputs.map((output) => [output, isWrong(step, output)]));
  return {
    ...phase,
    draw: (scene, state) => {
      phase.draw(scene, state);
      for (const mark of scene.marks) {
        const test = mark.ref && wrong.get(mark.ref.tensor);
        if (test && !/\b(empty|ghost)\b/.test(mark.kind) && test(mark.ref.index)) mark.kind += ' wrong';
        if (mark.of && wrong.has(mark.of)) mark.kind += ' wrong';
      }
    },
  };
}
