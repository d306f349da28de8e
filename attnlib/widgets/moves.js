/* Where a link, a key or an arrow over the cells leads. Pure. */

/** "6.2" is step 6, phase 2; null when it is no step. */
export function stepIn(words) {
  const found = /^(\d{1,6})(?:\.(\d{1,3}))?$/.exec(words);
  return found && { step: Number(found[1]), phase: Number(found[2] || 1) - 1 };
}

/** Where a key leads, or null. */
export function keyMove(key, state, { starts, total }) {
  const here = starts[state.step] + state.phase;
  const moves = {
    ArrowRight: here + 1,
    ArrowLeft: here - 1,
    Home: 0,
    End: total - 1,
    PageDown: starts[Math.min(state.step + 1, starts.length - 1)],
    PageUp: starts[Math.max(0, state.step - (state.phase ? 0 : 1))],
  };
  return Object.hasOwn(moves, key) ? moves[key] : null;
}

/** The nearest of `spots` that lies in the direction of an arrow key, as an index; -1 when there is none. */
export function neighbour(spots, from, key) {
  const axis = key === 'ArrowLeft' || key === 'ArrowRight' ? 'x' : 'y';
  const sign = key === 'ArrowLeft' || key === 'ArrowUp' ? -1 : 1;
  let best = -1;
  let least = Infinity;
  spots.forEach((spot, n) => {
    const along = sign * (spot[axis] - from[axis]);
    const across = Math.abs(axis === 'x' ? spot.y - from.y : spot.x - from.x);
    if (along > 1 && along + 3 * across < least) [best, least] = [n, along + 3 * across];
  });
  return best;
}
