/* What a player can do besides playing: ask for shapes, count at other sizes, give its numbers as tables, its table and
   its figure as files, and fill the screen. A page of the book fetches it when one of these is first used. */

import { element } from './kit.js';
import { predict } from './predict.js';
import { present } from './present.js';
import { showSizes } from './sizes.js';
import { showTables } from './tables.js';
import { copy, save } from './takeaway.js';
import TOOLS from './tools.css';

/** Give a player the style of its tools, once. */
function dress({ shadowRoot }) {
  if (!shadowRoot.querySelector('#tools')) shadowRoot.append(element('style', { id: 'tools' }, TOOLS));
}

/** Use the tool of that name on a player. */
export function use(name, player) {
  dress(player.host);
  const tools = { copy, save, present, showSizes, showTables, predict };
  tools[name](player);
}
