/* What the tests of every lab do inside its page. */

/** Do n things at random, the same ones for the same seed; gives the sentence at the end. */
window.actAtRandom = ([seed, n]) => {
  const root = document.querySelector('.attn-host').shadowRoot;
  const next = (most) => ((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0), (seed >>> 8) % most);
  const one = (selector) => {
    const all = root.querySelectorAll(selector);
    return all[next(all.length)];
  };
  const send = (node, name) => node.dispatchEvent(new Event(name, { bubbles: true }));
  const kinds = [
    () => one('button, .cell, summary')?.dispatchEvent(new MouseEvent('click', { bubbles: true })),
    () => {
      const slider = one('input[type=range]');
      if (!slider) return;
      slider.value = next(Number(slider.max) + 1);
      send(slider, 'input');
    },
    () => one('input[type=radio]')?.click(),
    () => {
      const field = one('input[type=number]');
      if (!field) return;
      field.value = ['', '1', '-3', '2.5', '1e300', '-0'][next(6)];
      send(field, 'input');
    },
    () => {
      location.hash = `${document.querySelector('.attn-lab').id}/${['', 'i=9', 'i=x;j=1', '%', 'add=1'][next(5)]}`;
    },
  ];
  for (let k = 0; k < n; k++) kinds[next(kinds.length)]();
  return root.querySelector('.caption').textContent;
};
