/* What the player's tests do inside a page. */

const planOf = (read) => read.steps.map((step) => window.modules.phases.phasesOf(step, read));

/** One phase of a trace as plain data: caption, height, marks. */
window.facts = ([json, step, phase, { width = 822, state = {} }]) => {
  const { trace, phases } = window.modules;
  const read = trace.readTrace(json);
  const plan = planOf(read);
  const all = { step, phase, i: 2, j: 1, at: {}, ...state };
  const scene = phases.sceneOf(read, plan, all, width);
  const words = (parts) => parts.map((part) => part.text).join('');
  return {
    caption: words(phases.caption(read, plan, all)),
    height: scene.height,
    marks: scene.marks.map(({ ref, parts, ...mark }) => ({
      ...mark,
      words: parts && words(parts),
      cell: ref && ref.tensor.name,
      index: ref && ref.index,
    })),
  };
};

/** How many phases each step has. */
window.phasesOf = (json) => {
  const { trace } = window.modules;
  return planOf(trace.readTrace(json)).map((list) => list.length);
};

/** The rows of a trace at other sizes. */
window.countAt = ([json, sizes]) => {
  const { trace, sizes: live } = window.modules;
  const read = trace.readTrace(json);
  const rows = live.rowsAt(read, sizes);
  return {
    shapes: rows.map((row) => row.shapes),
    work: rows.map((row) => row.work),
    ops: read.steps.map((step) => step.op),
    parameters: live.parametersAt(read, sizes),
    verdict: live.verdict(read, sizes, rows)[0],
  };
};

/** What readTrace says against a trace; '' when it takes it. */
window.refusal = (json) => {
  try {
    window.modules.trace.readTrace(json);
    return '';
  } catch (error) {
    return error.message;
  }
};

/** Put another player on a page that plays. */
window.addPlayer = ([trace, id]) => {
  const place = document.createElement('div');
  const state = document.createElement('script');
  [place.className, place.id, state.type] = ['attn-player', id, 'application/json'];
  state.textContent = JSON.stringify(trace);
  place.append(state);
  document.querySelector('main').append(place);
  window.attnlibPlayer.mountAll();
};

const press = (node, key) => node.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));

/** Do 500 things at random, the same ones for the same seed. */
window.actAtRandom = (start) => {
  let seed = start;
  const next = (n) => ((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0), (seed >>> 8) % n);
  const root = document.querySelector('.attn-host').shadowRoot;
  const keys = ['ArrowRight', 'ArrowLeft', 'ArrowUp', 'ArrowDown', 'PageDown', 'PageUp'];
  keys.push('Home', 'End', ' ', 'Enter', 'Escape');
  const kinds = [
    () => press(root.querySelector('.stage'), keys[next(keys.length)]),
    () => {
      const all = root.querySelectorAll('button, .cell, summary');
      all[next(all.length)].dispatchEvent(new MouseEvent('click', { bubbles: true }));
    },
    () => {
      const all = root.querySelectorAll('select, input[type=range]');
      const field = all[next(all.length)];
      field.value = field.options ? field.options[next(field.options.length)].value : next(Number(field.max) + 1);
      field.dispatchEvent(new Event(field.options ? 'change' : 'input', { bubbles: true }));
    },
  ];
  for (let n = 0; n < 500; n++) kinds[next(kinds.length)]();
  return [root.querySelector('.caption').textContent, root.querySelector('.kind').textContent];
};

/** Play traces that may be broken in any way: what played, what was refused, what went wrong. */
window.playAll = (traces) => {
  const outcome = { played: 0, refused: 0, wrong: [] };
  window.addEventListener('error', (event) => outcome.wrong.push(event.message));
  traces.forEach((trace, n) => {
    const host = document.createElement('div');
    document.body.append(host);
    try {
      const end = window.modules.player.render({ data: trace, host, id: `m${n}` });
      const message = host.shadowRoot.querySelector('.message');
      if (message) {
        outcome.refused++;
        if (message.textContent.length < 20) outcome.wrong.push(`${n}: ${message.textContent}`);
      } else {
        outcome.played++;
        const stage = host.shadowRoot.querySelector('.stage');
        for (let k = 0; k < 10; k++) press(stage, k % 2 ? 'ArrowRight' : 'PageDown');
      }
      if (host.shadowRoot.querySelector('img, script')) outcome.wrong.push(`${n}: a tag`);
      end();
    } catch (error) {
      outcome.wrong.push(`${n}: ${error.stack}`);
    }
    host.remove();
  });
  return outcome;
};
