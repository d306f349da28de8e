/* The players of a page: its code stands there once, and later outputs call it again. */

import { mountPlaces, startPlaces } from './places.js';
import { render } from './player.js';

const PLAYERS = '.attn-player';

export function start() {
  window.attnlibPlayer ??= { mountAll: () => mountPlaces(PLAYERS, render) };
  startPlaces(PLAYERS, window.attnlibPlayer.mountAll);
}
