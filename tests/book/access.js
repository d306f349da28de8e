/* axe with every answer asked for once. Contrast, which takes most of its time, is asked of one text for each look;
   the rules that see no colour only where the page is another one to them. access.py says when. */
window.access = (() => {
  const GROUND = ['backgroundColor', 'backgroundImage', 'opacity', 'filter', 'mixBlendMode', 'position', 'zIndex'];
  const INK = ['color', 'fontSize', 'fontWeight', 'textShadow', 'webkitTextStroke'];
  const seeable = { opacityProperty: true, visibilityProperty: true };
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
      e.checkVisibility(seeable),
      rounded(e.getBoundingClientRect()),
      e.scrollWidth > e.clientWidth,
      e.scrollHeight > e.clientHeight,
    ]);
    return seen.join('\n');
  }

  /** Every style from an element up to the root that decides what its text is seen against. */
  function ground(e, grounds) {
    if (!e) return '';
    if (!grounds.has(e)) {
      const style = getComputedStyle(e);
      const parts = ['::before', '::after'].map((part) => getComputedStyle(e, part).backgroundColor);
      const off = e.matches(':disabled, [aria-disabled="true"]'); // axe judges no text of what is disabled
      grounds.set(e, `${ground(up(e), grounds)} ${GROUND.map((name) => style[name])} ${parts} ${off}\n`);
    }
    return grounds.get(e);
  }

  const isPainted = (e) => {
    const { backgroundColor, backgroundImage } = getComputedStyle(e);
    return !clear.test(backgroundColor) || !clear.test(backgroundImage) || e.matches('img, canvas, svg, video');
  };
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const holds = (a, b) => a.left <= b.left && a.right >= b.right && a.top <= b.top && a.bottom >= b.bottom;
  const lineOf = (e) => {
    const line = new Set();
    for (let node = e; node; node = up(node)) line.add(node);
    return line;
  };

  /** What an element's box lets through of what it holds, where it scrolls or cuts. */
  function opening(e, openings) {
    if (!e) return { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
    if (!openings.has(e)) {
      const outer = opening(up(e), openings);
      openings.set(e, getComputedStyle(e).overflow === 'visible' ? outer : common(outer, e.getBoundingClientRect()));
    }
    return openings.get(e);
  }
  const common = (a, b) => ({
    left: Math.max(a.left, b.left),
    top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right),
    bottom: Math.min(a.bottom, b.bottom),
  });

  const ink = (style) => INK.map((name) => style[name]);
  const shown = () => [...all()].filter((e) => e.checkVisibility(seeable) && !e.ownerSVGElement); // axe judges no text in SVG

  /** The texts of the page by their looks, which of a ground that is no ancestor's tell what it is and hides. */
  function looks(elements, painted) {
    const openings = new Map();
    const seen = (e) => common(opening(up(e), openings), e.getBoundingClientRect());
    const places = painted.map((e) => [e, seen(e)]);
    const grounds = new Map();
    const groups = new Map();
    for (const e of elements) {
      const field = e.matches('input, select, textarea, label');
      if (!field && ![...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
      const here = seen(e);
      const over = places.filter(([other, rect]) => meet(here, rect) && other !== e && !e.contains(other));
      const line = over.length && lineOf(e);
      const strange = over.filter(([other]) => !line.has(other));
      const look = [
        ground(e, grounds),
        ink(getComputedStyle(e)),
        field && e.cloneNode().outerHTML,
        strange.map(([other, rect]) => [other.localName, holds(rect, here), ground(other, grounds)]),
      ].join();
      if (!groups.has(look)) groups.set(look, []);
      groups.get(look).push(e);
    }
    return groups;
  }

  const isInline = (node) => node.nodeType === 3 || (node.nodeType === 1 && /^(inline|contents)/.test(getComputedStyle(node).display));

  /** Whether words stand beside a link in its line: only there its colour must tell it apart. */
  function isAmongWords(link) {
    for (let node = link; node.parentNode; node = node.parentNode) {
      const others = [...node.parentNode.childNodes].filter((other) => other !== node && other.textContent.trim());
      if (others.some(isInline)) return true;
      if (!isInline(node.parentNode)) return false;
    }
    return false;
  }

  /** Every link among words and all that its colour is told apart by: its own look, that of the text around it, its line. */
  function links() {
    const grounds = new Map();
    const look = (e, style = getComputedStyle(e)) => [ground(e, grounds), ink(style), style.display, style.textDecoration];
    return [...all()]
      .map((e, place) => [e, place])
      .filter(([e]) => e.matches('a[href], [role=link]') && isAmongWords(e))
      .map(([e, place]) => [e, `link ${place} ${look(e)} ${up(e) && look(up(e))}`]);
  }

  const RULES = ['color-contrast', 'link-in-text-block'];
  const run = (context, options) => axe.run(context, { preload: false, resultTypes: ['violations'], ...options });

  /** Ask of colours. What axe lays out to see what stands behind what is what can: texts, and all that is painted. */
  async function ask(texts, painted) {
    const there = new Set(texts.flatMap((e) => [...e.querySelectorAll('*')]));
    for (const e of [...texts, ...painted])
      for (let node = e; node && !there.has(node); node = up(node)) there.add(node);
    document.createTreeWalker = (root, what) =>
      Document.prototype.createTreeWalker.call(document, root, what, (e) => (there.has(e) ? 1 : 2)); // accept, reject
    const options = { runOnly: RULES, resultTypes: ['violations', 'passes'], elementRef: true };
    try {
      return await run({ include: texts }, options);
    } finally {
      delete document.createTreeWalker;
    }
  }

  const said = (results) =>
    results.flatMap(({ violations }) =>
      violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `axe ${id}: ${help}: ${node.html.slice(0, 120)}`)),
    );

  const known = new Set(); // looks that passed, here or on pages before, and links as they look on this one
  const silent = new Map(); // of looks without a verdict the texts, which get none in other states either

  /** Of each look that is not known the first text and the last, all of them where those two get no verdict, and
      every link; then also the looks that passed. */
  async function colours(before) {
    for (const look of before) known.add(look);
    const elements = shown();
    const painted = elements.filter(isPainted);
    const isKnown = ([look, texts]) => known.has(look) || texts.every((e) => silent.get(look)?.has(e));
    const groups = [...looks(elements, painted)].filter((group) => !isKnown(group));
    const unasked = links().filter(([, look]) => !known.has(look));
    const asked = [...groups.flatMap(([, texts]) => [texts[0], texts.at(-1)]), ...unasked.map(([e]) => e)];
    if (!asked.length) return { problems: [], passed: [] };
    const results = [await ask([...new Set(asked)], painted)];
    const of = (kind) =>
      new Set(results.flatMap((result) => result[kind]).flatMap(({ nodes }) => nodes.map((node) => node.element)));
    const judged = of('passes').union(of('violations'));
    const open = groups.filter(([, texts]) => texts.length > 2 && !judged.has(texts[0]) && !judged.has(texts.at(-1)));
    if (open.length) results.push(await ask(open.flatMap(([, texts]) => texts), painted));
    const [right, wrong] = [of('passes'), of('violations')];
    for (const [e, look] of unasked) if (!wrong.has(e)) known.add(look);
    const fine = groups.filter(([, texts]) => !texts.some((e) => wrong.has(e)));
    const passed = fine.filter(([, texts]) => texts.some((e) => right.has(e))).map(([look]) => look);
    for (const look of passed) known.add(look);
    for (const [look, texts] of fine) if (!known.has(look)) silent.set(look, new Set(texts));
    return { problems: said(results), passed };
  }

  /** Every other rule of these tags. */
  async function structure(tags) {
    const rules = Object.fromEntries(RULES.map((id) => [id, { enabled: false }]));
    return said([await run(document, { runOnly: { type: 'tag', values: tags }, rules })]);
  }

  return { picture, colours, structure };
})();
