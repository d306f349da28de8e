/* axe with every answer asked for once. Contrast, which takes most of its time, is asked of one text for each look;
   the rules that see no colour only where the page is another one to them. access.py says when. */
window.access = (() => {
  const GROUND = ['backgroundColor', 'backgroundImage', 'opacity', 'filter', 'mixBlendMode', 'position'];
  const INK = ['color', 'fontSize', 'fontWeight', 'textShadow', 'webkitTextStroke'];
  const clear = /^(none|transparent|rgba\(.*, 0\))$/;
  const up = (e) => e.assignedSlot || e.parentElement || e.getRootNode().host || null;

  function* all(root = document.documentElement) {
    yield root;
    for (const child of [...(root.shadowRoot?.children ?? []), ...root.children]) yield* all(child);
  }

  /** All that a rule without colours can see: elements, attributes, what is shown, where, and what scrolls. */
  function picture() {
    const rounded = ({ x, y, width, height }) => [x, y + scrollY, width, height].map(Math.round);
    const seen = [...all()].map((e) => [
      e.cloneNode().outerHTML,
      e.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
      rounded(e.getBoundingClientRect()),
      e.scrollWidth > e.clientWidth,
      e.scrollHeight > e.clientHeight,
    ]);
    return seen.join('\n');
  }

  /** Every style from an element up to the root that decides what its text is seen against. */
  function ground(e, known) {
    if (!e) return '';
    if (!known.has(e)) {
      const style = getComputedStyle(e);
      const parts = ['::before', '::after'].map((part) => getComputedStyle(e, part).backgroundColor);
      const off = e.matches(':disabled, [aria-disabled="true"]'); // axe judges no text of what is disabled
      known.set(e, `${ground(up(e), known)} ${GROUND.map((name) => style[name])} ${parts} ${off}\n`);
    }
    return known.get(e);
  }

  const isPainted = (e) => {
    const { backgroundColor, backgroundImage } = getComputedStyle(e);
    return !clear.test(backgroundColor) || !clear.test(backgroundImage) || e.matches('img, canvas, svg, video');
  };
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const lineOf = (e) => {
    const line = new Set();
    for (let node = e; node; node = up(node)) line.add(node);
    return line;
  };

  /** The texts of the page in groups of one look; a text over a ground that is no ancestor's stands alone. */
  function looks() {
    const shown = [...all()].filter((e) => e.checkVisibility() && !e.ownerSVGElement); // axe judges no text in SVG
    const painted = shown.filter(isPainted).map((e) => [e, e.getBoundingClientRect()]);
    const known = new Map();
    const groups = new Map();
    shown.forEach((e, place) => {
      const field = e.matches('input, select, textarea, label');
      if (!field && ![...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) return;
      const here = e.getBoundingClientRect();
      const line = lineOf(e);
      const over = painted.some(([other, rect]) => meet(here, rect) && !line.has(other) && !e.contains(other));
      const style = getComputedStyle(e);
      const look = field || over ? place : ground(e, known) + INK.map((name) => style[name]);
      if (!groups.has(look)) groups.set(look, []);
      groups.get(look).push(e);
    });
    return [...groups.values()];
  }

  const RULES = ['color-contrast', 'link-in-text-block'];
  const run = (context, options) => axe.run(context, { preload: false, resultTypes: ['violations'], ...options });
  const ask = (texts) =>
    run({ include: texts }, { runOnly: RULES, resultTypes: ['violations', 'passes'], elementRef: true });

  const said = (results) =>
    results.flatMap(({ violations }) =>
      violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `axe ${id}: ${help}: ${node.html.slice(0, 120)}`)),
    );

  /** Every link, and of each look the first text and the last; all of them where those two get no verdict. */
  async function colours() {
    const groups = looks();
    const links = [...all()].filter((e) => e.matches('a[href], [role=link]'));
    const first = await ask([...new Set([...groups.flatMap((texts) => [texts[0], texts.at(-1)]), ...links])]);
    const judged = new Set([...first.passes, ...first.violations].flatMap(({ nodes }) => nodes.map((n) => n.element)));
    const open = groups.filter((texts) => texts.length > 2 && !judged.has(texts[0]) && !judged.has(texts.at(-1))).flat();
    return said(open.length ? [first, await ask(open)] : [first]);
  }

  /** Every other rule of these tags. */
  async function structure(tags) {
    const rules = Object.fromEntries(RULES.map((id) => [id, { enabled: false }]));
    return said([await run(document, { runOnly: { type: 'tag', values: tags }, rules })]);
  }

  return { picture, looks, colours, structure };
})();
