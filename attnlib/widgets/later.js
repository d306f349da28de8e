/* What a page fetches when it is first wanted: a lab's script, and that of the player's tools. They are classic scripts
   that stand beside the player's own, so that pages opened from a disk can have them too. */

const asked = new Map();
let base = '';

/** Say where the scripts stand: the address of one of them. */
export function from(address) {
  base = address;
}

/** Fetch a script, once; one that did not come is fetched again when it is asked for again. */
export function fetchBeside(name) {
  if (!asked.has(name)) asked.set(name, fetched(name));
  return asked.get(name);
}

function fetched(name) {
  return new Promise((come, fail) => {
    const script = document.createElement('script');
    script.src = new URL(name, base);
    script.onload = come;
    script.onerror = () => {
      asked.delete(name);
      script.remove();
      fail();
    };
    document.head.append(script);
  });
}

/** Hand the tools to `run`: at once where they are on the page, else when they have come, in the order of the calls. */
export function withTools(run, fail) {
  if (window.attnlibTools) run(window.attnlibTools);
  else fetchBeside('player-tools.js').then(() => run(window.attnlibTools), fail);
}
