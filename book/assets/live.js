// Live cells: the cells of a page can be edited and run, and what they give stands where the page's own output stood.
// Its state: one kernel, and for each cell whether it has run in that kernel as it now reads.
"use strict";
{
  const base = document.currentScript.src;
  const { Kernel, fromBinder } = window.bookKernel;
  // Players leave their code out of an output: the page has it.
  // The kernel keeps no history: its cells go by the numbers that they have in the page, and so come again.
  const FIRST = 'import os\nos.environ["ATTNLIB_STATIC"] = "1"\nget_ipython().history_manager.enabled = False';
  const IMAGES = ["image/svg+xml", "image/png", "image/jpeg"];
  const SHOWN = ["text/html", ...IMAGES, "text/plain"];

  const element = (name, properties = {}, ...inside) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...inside);
    return made;
  };
  const button = (text, act) => {
    const made = element("button", { type: "button", textContent: text });
    made.addEventListener("click", act);
    return made;
  };

  /** The text of edited code; innerText is none where the code is folded. */
  const textOf = node => {
    const copy = node.cloneNode(true);
    for (const end of copy.querySelectorAll("br")) end.replaceWith("\n");
    return copy.textContent.replace(/\u00a0/g, " ");
  };

  // --- places in edited code: offsets in its text, as it is read ---
  /** From where to where the selection goes in a code's text. */
  const selected = code => {
    const range = getSelection().getRangeAt(0);
    return ["start", "end"].map(end => {
      const before = document.createRange();
      before.selectNodeContents(code);
      before.setEnd(range[`${end}Container`], range[`${end}Offset`]);
      return textOf(before.cloneContents()).length;
    });
  };
  const select = (code, from, to = from) => {
    const points = [];
    let past = 0;
    const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walk.nextNode(); node && points.length < 2; node = walk.nextNode()) {
      const length = node.nodeType === Node.TEXT_NODE ? node.length : Number(node.localName === "br");
      for (const offset of [from, to].slice(points.length))
        if (node.nodeType === Node.TEXT_NODE && offset <= past + length) points.push([node, offset - past]);
      past += length;
    }
    if (points.length === 2) getSelection().setBaseAndExtent(...points[0], ...points[1]);
  };
  const type = text => document.execCommand(text ? "insertText" : "delete", false, text);

  // --- outputs: as the page writes them ---
  const lines = (kind, text) => element("div", { className: `output ${kind} highlight-myst-ansi notranslate` },
    element("div", { className: "highlight" }, element("pre", { textContent: text.replace(/\x1b\[[\d;]*m/g, "") })));
  const fetched = new Map();
  const script = name => {
    if (!fetched.has(name)) fetched.set(name, new Promise((done, failed) => {
      document.head.append(element("script", { src: new URL(name, base), onload: done, onerror: failed }));
    }));
    return fetched.get(name);
  };
  const startWidgets = async place => {
    const labs = [...place.querySelectorAll(".attn-lab")].map(lab => lab.dataset.lab);
    if (!labs.length && !place.querySelector(".attn-player")) return;
    if (!window.attnlibPlayer) await script("player.js");
    window.attnlibPlayer.mountAll();
    for (const name of labs) {
      if (!window.attnlibLabs?.[name]) await script(`lab-${name}.js`);
      window.attnlibLabs[name]();
    }
  };
  const shown = (data, alt) => {
    const kind = SHOWN.find(mime => mime in data);
    if (!kind) return null;
    if (kind === "text/plain") return lines("text_plain", data[kind]);
    if (kind === "text/html") {
      const made = element("div", { className: "output text_html", innerHTML: data[kind] }); // scripts in it do not run
      for (const table of made.querySelectorAll("table")) {
        const box = element("div", { className: "scroll" });
        table.replaceWith(box);
        box.append(table);
      }
      return made;
    }
    const bytes = kind === "image/svg+xml" ? encodeURIComponent(data[kind]) : data[kind];
    const src = `data:${kind}${kind === "image/svg+xml" ? "," : ";base64,"}${bytes}`;
    return element("div", { className: "output image_png" }, element("img", { src, alt }));
  };

  class Output {
    constructor(box) {
      const alt = box.querySelector("img")?.alt ?? "A picture, drawn anew";
      // What stands there stays until there is something new, so that the page does not jump.
      Object.assign(this, { box, alt, stream: null, clear: true, named: new Map() });
    }
    add(made) {
      if (this.clear) { this.box.replaceChildren(); this.clear = false; this.stream = null; }
      if (made) this.box.append(made);
    }
    hear(type, content) {
      if (type === "stream") {
        const text = content.text.replace(/\x1b\[[\d;]*m/g, "");
        if (this.stream?.name === content.name && !this.clear) this.stream.pre.append(text);
        else {
          const made = lines(`stream ${content.name === "stderr" ? "stderr" : "stdout"}`, text);
          this.add(made);
          this.stream = { name: content.name, pre: made.querySelector("pre") };
        }
        return;
      }
      if (type === "clear_output") { this.clear = true; if (!content.wait) this.add(null); return; }
      if (type === "error") this.add(lines("traceback", content.traceback.join("\n")));
      else if (type === "update_display_data") {
        const made = shown(content.data, this.alt), old = this.named.get(content.transient?.display_id);
        if (old && made) { old.replaceWith(made); this.named.set(content.transient.display_id, made); startWidgets(made); }
        return;
      } else if (content.data) {
        const made = shown(content.data, this.alt);
        this.add(made);
        if (made && content.transient?.display_id) this.named.set(content.transient.display_id, made);
        if (made) startWidgets(made);
      } else return;
      this.stream = null;
    }
  }

  // --- cells ---
  class Cell {
    constructor(place, number, run) {
      this.place = place;
      this.number = number + 1;
      this.name = `cell ${this.number}`;
      this.code = place.querySelector(".cell_input pre");
      this.mayRaise = place.classList.contains("tag_raises-exception");
      this.ran = false;
      this.error = ""; // the name of the one that ended its last run
      this.code.contentEditable = "true";
      try { this.code.contentEditable = "plaintext-only"; } catch { /* an older browser pastes with colours */ }
      this.code.spellcheck = false;
      this.apart = place.closest("[id^=exercise-], #now-your-own"); // the reader's own: no cell elsewhere needs it
      for (const [key, value] of Object.entries({ role: "textbox", "aria-multiline": "true", "aria-label": `Code of ${this.name}` }))
        this.code.setAttribute(key, value);
      this.edited = false;
      this.code.addEventListener("input", event => { this.ran = false; this.edited = true; this.fade(event); });
      this.code.addEventListener("focus", () => { this.leaves = false; });
      this.code.addEventListener("keydown", event => this.key(event, run));
      this.button = button(`Run ${this.name}`, () => run(this));
      this.button.className = "run";
      this.code.closest(".highlight").append(this.button);
    }
    /** Shift+Enter runs; Enter, Tab and Backspace keep Python's indents. After Escape, Tab goes on in the page. */
    key(event, run) {
      if (event.isComposing) return;
      const { key, shiftKey } = event, held = event.ctrlKey || event.metaKey;
      if (key === "Enter" && (shiftKey || held)) { event.preventDefault(); run(this); return; }
      if (held || event.altKey) return;
      const leaves = key === "Tab" && this.leaves;
      if (key !== "Shift") this.leaves = key === "Escape";
      const edit = { Enter: this.enter, Tab: shiftKey ? this.dedent : this.indent, Backspace: this.back }[key];
      if (edit && !leaves && edit.call(this, ...selected(this.code))) event.preventDefault();
    }
    /** The line that an offset stands in, up to there. */
    before(offset) { return textOf(this.code).slice(0, offset).split("\n").at(-1); }
    /** Where the lines begin that a selection touches, the last first. */
    starts(from, to) {
      const text = textOf(this.code), starts = [from - this.before(from).length];
      for (let at = starts[0]; at < to - 1; at++) if (text[at] === "\n") starts.unshift(at + 1);
      return starts;
    }
    enter(from) {
      const line = this.before(from);
      return type(`\n${/^ */.exec(line)[0]}${line.trimEnd().endsWith(":") ? "    " : ""}`);
    }
    indent(from, to) {
      if (from === to) return type(" ".repeat(4 - this.before(from).length % 4));
      const starts = this.starts(from, to);
      for (const at of starts) { select(this.code, at); type("    "); }
      select(this.code, from + 4, to + 4 * starts.length);
      return true;
    }
    dedent(from, to) {
      let gone = 0, first = 0;
      for (const at of this.starts(from, to)) {
        first = /^ {0,4}/.exec(textOf(this.code).slice(at))[0].length;
        gone += first;
        if (first) { select(this.code, at, at + first); type(""); }
      }
      select(this.code, Math.max(0, from - first), Math.max(0, to - gone));
      return true;
    }
    /** In an indent, one step back; else as everywhere. */
    back(from, to) {
      const line = this.before(from);
      if (from !== to || !/^ +$/.test(line)) return false;
      select(this.code, from - ((line.length - 1) % 4 + 1), from);
      return type("");
    }
    /** Colours follow a sign or an indent, put in or taken away. All else would have those of what stood there before:
     * a cell with other code has one ink. */
    fade({ data, inputType }) {
      const [word, other] = [...this.code.children].filter(part => part.textContent);
      const anew = !other && word?.textContent.trim() === this.code.textContent.trim();
      if (anew || !/^( +|.)$/.test(data) && !inputType.startsWith("delete")) this.code.classList.add("plain");
    }
    get asserts() { return this.error === "AssertionError"; }
    get source() { return textOf(this.code).trimEnd(); }
    show() {
      for (const part of [this.code, this.output()])
        for (let fold = part.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
      this.place.scrollIntoView();
      this.code.focus({ preventScroll: true });
    }
    output() {
      let box = this.place.querySelector(".cell_output");
      if (!box) {
        box = element("div", { className: "cell_output docutils container", role: "group", ariaLabel: "Output" });
        this.place.append(box);
      }
      return box;
    }
    /** Run in a kernel. What is folded opens for a reader who asked for this cell; answers above it stay folded. */
    async run(kernel, asked) {
      const box = this.output(), output = new Output(box);
      if (asked) box.closest("details")?.setAttribute("open", "");
      box.setAttribute("aria-busy", "true");
      this.error = "";
      try {
        await kernel.run(`get_ipython().execution_count = ${this.number}`, undefined, true);
        const status = await kernel.run(this.source, (type, content) => {
          if (type === "error") this.error = content.ename;
          output.hear(type, content);
        });
        output.add(null);
        this.ran = status === "ok" || this.mayRaise;
      } catch (error) { // the kernel is gone; an output of other code would be taken for this one's
        if (output.clear) output.add(null);
        throw error;
      } finally { box.removeAttribute("aria-busy"); }
      return this.ran;
    }
  }

  // --- the page ---
  class Live {
    constructor(where, folder) {
      this.where = where;
      this.folder = folder;
      this.kernel = this.server = null;
      this.work = Promise.resolve();
      this.running = null;
      this.interrupted = null; // the cell that the reader stopped
      this.said = element("span", { role: "status" });
      this.stopper = button("Interrupt", () => this.interrupt());
      this.stopper.disabled = true;
      this.finder = button("Show that cell", () => this.shown.show());
      const all = button("Run all", () => this.all());
      this.bar = element("div", { className: "live" }, this.said, this.finder, all, this.stopper);
      document.querySelector("main").after(this.bar);
      // What sticks to the window's foot stands above it, and what has the focus is not under it.
      const foot = () => document.documentElement.style.setProperty("--attn-foot", `${this.bar.offsetHeight}px`);
      new ResizeObserver(foot).observe(this.bar);
      const places = [...document.querySelectorAll("main .cell")].filter(cell => cell.querySelector(".cell_input .highlight-ipython3 pre"));
      this.cells = places.map((place, number) => new Cell(place, number, cell => this.upTo(cell)));
      // Sentences of the page link to players that a run may have taken away.
      const stood = new Map(this.cells.flatMap(cell => [...cell.place.querySelectorAll(".attn-player")].map(({ id }) => [id, cell])));
      document.querySelector("main").addEventListener("click", ({ target }) => {
        const [id] = target.closest("a[href^='#']")?.getAttribute("href").slice(1).split("/") ?? [];
        if (stood.has(id) && !document.getElementById(id))
          this.tell(`This link leads to a player of the book's own code, which yours has replaced in ${stood.get(id).name}.`, stood.get(id));
      });
      // A page keeps nothing that is typed into it.
      addEventListener("beforeunload", event => { if (this.cells.some(cell => cell.edited)) event.preventDefault(); });
      addEventListener("pagehide", () => this.kernel?.stop());
      addEventListener("pageshow", event => { if (event.persisted) this.forget("The kernel was stopped when you left. Run a cell to start another."); });
    }
    /** Say something, and offer to go to the cell that it is about. */
    tell(sentence, cell = null) {
      this.said.textContent = sentence;
      this.shown = cell;
      this.finder.hidden = !cell;
    }
    forget(sentence, failed) {
      this.kernel = this.server = null; // its server may be gone as well
      for (const cell of this.cells) cell.ran = false;
      this.tell(sentence, failed);
    }
    /** Stop the cell that runs, and run none behind it. */
    interrupt() {
      this.halted = true;
      this.interrupted = this.running;
      if (this.running) this.kernel?.interrupt();
    }
    async stop() {
      this.tell("Starting a new kernel …");
      for (const cell of this.cells) cell.ran = false;
      await this.kernel?.stop();
      this.kernel = null;
    }
    async begin() {
      this.tell("Starting a kernel …");
      this.server ??= await this.where(sentence => this.tell(sentence));
      this.kernel = await Kernel.start(this.server, this.folder, sentence => {
        const at = this.running ? ` C${this.running.name.slice(1)} was running.` : "";
        this.forget(`${sentence}${at} Run a cell to start another kernel.`, this.running);
      });
      await this.kernel.run(FIRST, undefined, true);
      this.used = false;
    }
    /** Run a cell after all before it that it may need and that have not run as they now read. */
    upTo(cell) { return this.run(cell, this.cells.filter(({ apart }) => !apart || apart === cell.apart)); }
    /** Run every cell in a new kernel, so that nothing is left of code that is gone, or of a file that has changed;
     * an exercise that fails, or is not written yet, stops no other. */
    all() {
      this.renewing ??= this.run(this.cells.at(-1), this.cells, true).finally(() => { this.renewing = null; });
      return this.renewing;
    }
    /**
     * Cells below write over names of cells above. So what is to run above a cell that has run begins with the first:
     * each cell starts from what those above it leave, as in the page. Tells whether it does.
     */
    anew(cells) {
      const shared = this.cells.filter(cell => !cell.apart);
      const first = cells.find(cell => !cell.apart && !cell.ran);
      const over = first !== undefined && shared.slice(shared.indexOf(first) + 1).some(cell => cell.ran);
      if (over) for (const cell of shared) cell.ran = false;
      return over;
    }
    run(last, cells, all = false) {
      last.ran = false;
      this.work = this.work.then(() => this.go(last, cells.slice(0, cells.indexOf(last) + 1), all));
      return this.work;
    }
    /** What is to be said of a cell that failed, and of those up to `last` that were not run because of it. */
    ending(failed, last) {
      const how = failed === this.interrupted ? "was interrupted" : "ended in an error";
      const first = failed.number + 1;
      const rest = first > last.number ? ""
        : first === last.number ? `, so ${last.name} was not run`
        : `, so cells ${first} to ${last.number} were not run`;
      return `C${failed.name.slice(1)} ${how}${rest}.`;
    }
    /** A cell of the book may not hold, or not run, with what the reader has changed above it; that stops no other. */
    differs(cell, cells) {
      const changed = cells.slice(0, cells.indexOf(cell)).some(({ edited }) => edited);
      return changed && !cell.edited && !cell.apart && cell !== this.interrupted;
    }
    differing(cell) {
      return cell.asserts
        ? `What ${cell.name} asserts holds of the book's own code, not of yours.`
        : `C${cell.name.slice(1)} is the book's own and ended in an error with your code.`;
    }
    async go(last, cells, all) {
      let failed = null, stopped = false, differing = null;
      const broken = new Set();
      this.interrupted = null;
      this.halted = false;
      this.stopper.disabled = false;
      try {
        if (all && this.used) await this.stop();
        if (!this.kernel) await this.begin();
        this.used = true;
        const first = this.anew(cells) && last !== cells[0] ? ", after those above it, so that it starts from what they leave" : "";
        for (const cell of cells) {
          if (cell.ran || broken.has(cell.apart)) continue;
          if (this.halted) return this.tell(`Interrupted: ${cell.name} and what stands below it were not run.`, cell);
          this.tell(`Running ${cell.name} of ${this.cells.length} …`);
          this.running = cell;
          if (await cell.run(this.kernel, cell === last && !all)) continue;
          if (this.differs(cell, cells) && (cell !== last || cell.asserts)) {
            cell.ran = true;
            differing ??= cell;
            continue;
          }
          stopped = !cell.apart || cell === last || cell === this.interrupted;
          failed = stopped ? cell : failed ?? cell;
          if (stopped) break;
          broken.add(cell.apart);
        }
        const below = this.cells.slice(this.cells.indexOf(last) + 1).some(({ apart }) => apart === last.apart);
        const more = !all && below && cells.some(({ edited }) => edited)
          ? "What stands below it is from before: Run all renews it." : "Change any cell and run it: Shift+Enter.";
        const done = all ? `All ${this.cells.length} cells have run` : `C${last.name.slice(1)} has run${first}`;
        if (failed) {
          // What other code gave would be taken for what this one gives.
          const old = cell => !cell.ran && cell !== failed && (cell.edited || cell.apart && cell.apart === failed.apart);
          for (const cell of cells.filter(old)) cell.output().replaceChildren();
          this.tell(this.ending(failed, stopped ? last : cells.findLast(({ apart }) => apart === failed.apart)), failed);
        }
        else if (differing) this.tell(`${done}. ${this.differing(differing)}`, differing);
        else this.tell(`${done}. ${more}`);
      } catch (error) {
        if (!error.told) this.forget(`${error.message} Run a cell to try again.`);
      } finally {
        this.running = null;
        this.stopper.disabled = !this.kernel;
      }
    }
  }

  /** Make the page's cells live; `local` is "port/token" of a server on this machine, `binder` a Binder spec. */
  window.bookLive = ({ local, binder, folder }) => {
    const [port, token] = (local ?? "").split("/");
    const where = local
      ? async () => ({ url: `http://${location.hostname}:${port}/`, token })
      : tell => fromBinder(binder, tell);
    const live = new Live(where, folder);
    live.work = live.begin().then(
      () => live.tell("Ready. Change any cell and run it: Shift+Enter, or its button. In a cell Tab indents; after Escape it goes on. What you change is not saved."),
      error => live.forget(`${error.message} Run a cell to try again.`));
    live.said.scrollIntoView({ block: "nearest" });
  };
}
