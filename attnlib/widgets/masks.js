/* Masks: who may attend to whom, and the scores they close. A closed cell is hatched. */

import { flow, front, hidden } from './flow.js';
import { clamp, code, number, range, say } from './kit.js';
import { brief, dimName, named, rank, sheet, shown } from './tensor.js';

const openIn = (view, i) => range(view.cols).filter((j) => view.value(i, j) === true).length;

/** The first row that has closed keys and more than one open key: there a mask can be seen at work. */
export function partly(view, isOpen) {
  const found = range(view.rows).find((i) => {
    const n = range(view.cols).filter((j) => isOpen(view.value(i, j))).length;
    return n > 1 && n < view.cols;
  });
  return found ?? 2;
}

export function maskPhases(step, trace) {
  const [mask] = step.outputs;
  const pick = (state) => clamp(state.i, 0, Math.max(0, sheet(mask, state.at).rows - 1));
  const draw = (scene, i) => {
    const [place] = flow(
      scene,
      [
        front(scene, mask, {
          lit: { i },
          pick: (r) => ({ i: r }),
          kind: (r) => (i === undefined || r === i ? '' : 'off'),
        }),
      ],
      scene.top + 24,
    );
    if (i !== undefined) scene.band('row', place, { i });
  };
  const phases = [
    {
      say: () =>
        say`${code('True')} means this query may attend to this key; the hatched cells are closed: row i sees key 0 up to its own place.`,
      draw: (scene) => draw(scene),
    },
  ];
  if (mask.values) {
    phases.push({
      picks: { i: sheet(mask, {}).rows },
      row: partly(sheet(mask, {}), Boolean),
      say: (state) => {
        const view = sheet(mask, state.at);
        const i = pick(state);
        const shared =
          rank(mask) === 2
            ? say`; the mask is one sheet of ${dimName(trace, mask.dims[0])} × ${dimName(trace, mask.dims[1])} and serves every sequence`
            : [];
        return say`Row ${i} may look at ${openIn(view, i)} of ${view.cols} keys${shared}.`;
      },
      draw: (scene, state) => draw(scene, pick(state)),
    });
  }
  return phases;
}

export function maskedPhases(step) {
  const where = step.inputs.findIndex((tensor) => tensor.dtype === 'bool');
  const mask = step.inputs[where];
  const output = step.outputs[0];
  const scores = step.inputs.find((tensor, n) => n !== where);
  if (!mask || !scores) return null;
  const closes = step.op === 'masked_fill';
  const value = closes ? step.params.value : step.op === 'mask_scores' ? -Infinity : undefined;
  const fill = value === '-inf' ? -Infinity : value;
  const comes = number(Number(fill), 0);
  const draw = (scene, done) => {
    const [, at] = flow(scene, [
      front(scene, scores),
      front(scene, mask, { masked: (v) => v === closes && v !== null }),
      { sign: say`→` },
      front(scene, output, {
        ...(done ? {} : hidden),
        masked: (v) => v === fill || v === -Infinity,
      }),
    ]);
    const says = `where ${brief(shown(mask), 8)} is ${closed.text}: ${comes}`;
    if (value !== undefined) scene.text('where', at.x, at.bottom + at.depth + 20, says, 'small');
  };
  const shared = rank(mask) < rank(scores);
  const closed = code(closes ? 'True' : 'False');
  return [
    {
      say: () =>
        say`${shared ? 'The same ' : ''}${named(mask)} is laid over ${named(scores)}${shared ? ', once for every sheet' : ''}${fill === undefined ? '' : say`: where it says ${closed}, ${comes} comes in`}.`,
      draw: (scene) => draw(scene, false),
    },
    {
      say: () =>
        fill === undefined
          ? say`Where ${named(mask)} says ${code('True')} the first number is taken, elsewhere the second.`
          : say`Where ${named(mask)} says ${closed} the score becomes ${comes}; every other score stays as it was.`,
      draw: (scene) => draw(scene, true),
    },
  ];
}
