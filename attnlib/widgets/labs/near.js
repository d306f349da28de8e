/* Fetches a lab's code when its place on a page comes near, or when a link of the prose asks for it. */

import { fetchBeside } from '../later.js';

const NEAR = '900px';

/** Watch every lab of the page. */
export function watch() {
  // A lab that did not come stays as it reads without scripts.
  const fetch = (name) => fetchBeside(`lab-${name}.js`).catch(() => {});
  const eye = new IntersectionObserver(
    (seen) => seen.filter((one) => one.isIntersecting).forEach((one) => fetch(one.target.dataset.lab)),
    { rootMargin: NEAR },
  );
  for (const place of document.querySelectorAll('.attn-lab')) eye.observe(place);
  const byLink = () => {
    const [, name] = /^#lab-([a-z]+)(?:-\d+)?\//.exec(location.hash) || [];
    if (name && document.getElementById(`lab-${name}`)) fetch(name);
  };
  window.addEventListener('hashchange', byLink);
  byLink();
}
