/* Text in SVG, which axe does not judge: in place of each text a box in its ink, and the same picture without
   any text. Two screenshots then hold, for every text, its ink and its ground as they are on the screen: colours, opacity,
   themes and filters included. inks.py compares them. */
window.inks = (() => {
  const SVG = 'http://www.w3.org/2000/svg';
  const words = (e) => [...e.childNodes].filter((node) => node.nodeType === 3 && node.data.trim());

  function* all(root) {
    for (const child of [...(root.shadowRoot?.children ?? []), ...root.children]) {
      yield child;
      yield* all(child);
    }
  }

  /** Every drawing in a place that can hold text: inline ones, in shadow roots too, and pictures that are SVG files. */
  const drawings = (place) =>
    [...all(place)].filter(
      (e) =>
        e.checkVisibility() &&
        ((e.matches('svg') && !e.ownerSVGElement && e.querySelector('text')) || e.matches('img[src*=".svg"]')),
    );

  const least = (style, scale) => {
    const size = parseFloat(style.fontSize) * scale;
    return size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
  };

  const painted = (name, place, look) => {
    const made = document.createElementNS(SVG, 'rect');
    for (const [key, value] of Object.entries({ ...place, [`data-${name}`]: '' })) made.setAttribute(key, value);
    made.style.cssText = `stroke: none; filter: none; ${look}`;
    return made;
  };

  /** Put a box over each text of a drawing; say where they are, and what contrast each must have. */
  function box(svg) {
    const [said, made] = [[], []];
    const back = svg.getScreenCTM().inverse();
    for (const e of svg.querySelectorAll('text, tspan')) {
      const style = getComputedStyle(e);
      if (style.visibility !== 'visible' || !e.checkVisibility()) continue;
      let opacity = 1;
      for (let up = e; up !== svg; up = up.parentNode) opacity *= getComputedStyle(up).opacity;
      for (const node of words(e)) {
        const range = document.createRange();
        range.selectNodeContents(node);
        const { x, y, width, height } = range.getBoundingClientRect();
        const from = new DOMPoint(x, y).matrixTransform(back);
        const to = new DOMPoint(x + width, y + height).matrixTransform(back);
        const place = { x: from.x, y: from.y, width: to.x - from.x, height: to.y - from.y };
        // A word with a rim of its own stands on that rim.
        if (style.paintOrder.startsWith('stroke') && style.stroke !== 'none')
          made.push(painted('ground', place, `fill: ${style.stroke}; opacity: ${opacity}`));
        made.push(painted('ink', place, `fill: ${style.fill}; fill-opacity: ${style.fillOpacity}; opacity: ${opacity}`));
        said.push([node.data.trim(), x, y, width, height, least(style, 1 / back.a)]);
      }
    }
    svg.append(...made); // at the end: each would have the whole drawing laid out again for the next text
    return said;
  }

  const texts = (svg) => svg.querySelectorAll('text');
  const boxes = (svg, kinds = '[data-ink]') => svg.querySelectorAll(kinds);
  const show = (svg, ink) => {
    for (const text of texts(svg)) text.style.setProperty('visibility', 'hidden', 'important');
    for (const made of boxes(svg)) made.style.setProperty('visibility', ink ? 'visible' : 'hidden', 'important');
  };

  /** The same of a picture: a copy of its drawing takes its size, and two versions its place. */
  async function picture(image) {
    const source = await (await fetch(image.src)).text();
    const { x, y, width, height } = image.getBoundingClientRect();
    const shelf = document.createElement('div');
    shelf.style.cssText = `position: absolute; left: ${x}px; top: ${y + scrollY}px; width: ${width}px; height: ${height}px`;
    shelf.attachShadow({ mode: 'open' }).innerHTML = source.slice(source.indexOf('<svg'));
    document.body.append(shelf);
    const svg = shelf.shadowRoot.querySelector('svg');
    svg.style.cssText = 'width: 100%; height: 100%';
    const said = box(svg);
    const address = (ink) => {
      show(svg, ink);
      const copy = svg.cloneNode(true);
      copy.removeAttribute('style');
      return `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
    };
    const addresses = [address(false), address(true)];
    shelf.remove();
    return { said, addresses };
  }

  let now = null;
  /** Make one drawing ready; say which texts it holds, and where. */
  async function start(drawing) {
    // Keys that stick to the window's edge lie over what a window as low as a drawing shows.
    for (const bar of drawing.getRootNode().querySelectorAll('.bar')) bar.style.position = 'static';
    drawing.scrollIntoView({ block: 'center' });
    const isPicture = drawing.matches('img');
    now = { drawing, original: isPicture ? drawing.src : null };
    Object.assign(now, isPicture ? await picture(drawing) : { said: box(drawing) });
    return now.said;
  }

  async function turn(ink) {
    const { drawing, addresses } = now;
    if (!addresses) return show(drawing, ink);
    drawing.src = addresses[Number(ink)];
    await drawing.decode();
  }

  function stop() {
    const { drawing, original } = now;
    if (original) drawing.src = original;
    else {
      for (const made of boxes(drawing, '[data-ink], [data-ground]')) made.remove();
      for (const text of texts(drawing)) text.style.removeProperty('visibility');
    }
  }

  return { drawings, start, turn, stop };
})();
