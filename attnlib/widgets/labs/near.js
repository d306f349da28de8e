/* Fetches a lab's code when its place on a page comes near, or when a link of the prose asks for it. */

const NEAR = '900px';

/** Watch every lab of the page; `base` is the address that the labs' files stand beside. */
export function watch(base) {
  const asked = new Set();
  const fetch = (name) => {
    if (asked.has(name)) return;
    asked.add(name);
    const script = document.createElement('script');
    script.src = new URL(`lab-${name}.js`, base);
    document.head.append(script);
  };
  const eye = new IntersectionObserver(
    (seen) => seen.filter((one) => one.isIntersecting).forEach((one) => fetch(one.target.dataset.lab)),
    { rootMargin: NEAR },
  );
  for (const place of document.querySelectorAll('.attn-lab')) eye.observe(place);
  const byLink = () => {
    const [, name] = /^#lab-([a-z]+)\//.exec(location.hash) || [];
    if (name && document.getElementById(`lab-${name}`)) fetch(name);
  };
  window.addEventListener('hashchange', byLink);
  byLink();
}
