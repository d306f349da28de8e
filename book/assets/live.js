// Live cells: the cells of a page can be edited and run, and what they give stands where the page's own output stood.
// Its state: one kernel, and for each cell whether it has run in that kernel as it now reads.
"use strict";
{
  const base = document.currentScript.src;
  const { Kernel, fromBinder } = window.bookKernel;
  // Players leave their code out of an output: the page has it.
  const FIRST = 'import os\nos.environ["ATTNLIB_STATIC"] = "1"';
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
      this.name = `cell ${number + 1}`;
      this.code = place.querySelector(".cell_input pre");
      this.mayRaise = place.classList.contains("tag_raises-exception");
      this.ran = false;
      this.code.contentEditable = "true";
      try { this.code.contentEditable = "plaintext-only"; } catch { /* an older browser pastes with colours */ }
      this.code.spellcheck = false;
      for (const [key, value] of Object.entries({ role: "textbox", "aria-multiline": "true", "aria-label": `Code of ${this.name}` }))
        this.code.setAttribute(key, value);
      this.code.addEventListener("input", () => { this.ran = false; });
      this.code.addEventListener("keydown", event => this.key(event, run));
      this.button = button("Run", () => run(this));
      this.button.setAttribute("aria-label", `Run ${this.name}`);
      this.button.className = "run";
      this.code.closest(".highlight").append(this.button);
    }
    key(event, run) {
      if (event.key !== "Enter" || event.isComposing) return;
      if (event.shiftKey || event.ctrlKey || event.metaKey) { event.preventDefault(); run(this); return; }
      const before = getSelection().getRangeAt(0).cloneRange();
      before.setStart(this.code, 0);
      const line = textOf(before.cloneContents()).split("\n").at(-1);
      const indent = /^ */.exec(line)[0] + (line.trimEnd().endsWith(":") ? "    " : "");
      event.preventDefault();
      document.execCommand("insertText", false, `\n${indent}`);
    }
    get source() { return textOf(this.code).trimEnd(); }
    show() {
      for (let fold = this.code.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
      this.place.scrollIntoView();
      this.code.focus({ preventScroll: true });
    }
    output() {
      let box = this.place.querySelector(".cell_output");
      if (!box) {
        box = element("div", { className: "cell_output docutils container", role: "group", ariaLabel: "Output" });
        this.place.append(box);
      }
      box.closest("details")?.setAttribute("open", "");
      return box;
    }
    async run(kernel) {
      const box = this.output(), output = new Output(box);
      box.setAttribute("aria-busy", "true");
      try {
        const status = await kernel.run(this.source, (type, content) => output.hear(type, content));
        output.add(null);
        this.ran = status === "ok" || this.mayRaise;
      } finally { box.removeAttribute("aria-busy"); }
      return this.ran;
    }
  }

  // --- the page ---
  class Live {
    constructor(where, folder) {
      this.where = where;
      this.folder = folder;
      this.kernel = null;
      this.work = Promise.resolve();
      this.said = element("span", { role: "status" });
      this.stopper = button("Interrupt", () => this.kernel?.interrupt());
      this.stopper.disabled = true;
      this.finder = button("Show that cell", () => this.failed.show());
      const all = button("Run all", () => this.upTo(this.cells.at(-1)));
      this.bar = element("div", { className: "live" }, this.said, this.finder, all, this.stopper);
      document.querySelector("main").after(this.bar);
      const places = [...document.querySelectorAll("main .cell")].filter(cell => cell.querySelector(".cell_input .highlight-ipython3 pre"));
      this.cells = places.map((place, number) => new Cell(place, number, cell => this.upTo(cell)));
      addEventListener("pagehide", () => this.kernel?.stop());
      addEventListener("pageshow", event => { if (event.persisted) this.forget("The kernel was stopped when you left. Run a cell to start another."); });
    }
    tell(sentence, failed = null) {
      this.said.textContent = sentence;
      this.failed = failed;
      this.finder.hidden = !failed;
    }
    forget(sentence) {
      this.kernel = null;
      for (const cell of this.cells) cell.ran = false;
      this.tell(sentence);
    }
    async begin() {
      this.tell("Starting a kernel …");
      const server = await this.where(sentence => this.tell(sentence));
      this.kernel = await Kernel.start(server, this.folder, sentence => this.forget(`${sentence} Run a cell to start another kernel.`));
      await this.kernel.run(FIRST, undefined, true);
    }
    /** Run a cell after all before it that have not run as they now read. */
    upTo(cell) {
      cell.ran = false;
      this.work = this.work.then(() => this.go(cell));
      return this.work;
    }
    async go(last) {
      this.stopper.disabled = false;
      try {
        if (!this.kernel) await this.begin();
        for (const cell of this.cells.slice(0, this.cells.indexOf(last) + 1)) {
          if (cell.ran) continue;
          this.tell(`Running ${cell.name} of ${this.cells.length} …`);
          if (await cell.run(this.kernel)) continue;
          const rest = cell === last ? "." : `, so ${last.name} was not run.`;
          this.tell(`C${cell.name.slice(1)} ended in an error${rest}`, cell);
          return;
        }
        this.tell(`C${last.name.slice(1)} has run. Change any cell and run it: Shift+Enter.`);
      } catch (error) {
        if (!error.told) this.forget(`${error.message} Run a cell to try again.`);
      } finally { this.stopper.disabled = !this.kernel; }
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
      () => live.tell("Ready. Change any cell and run it: Shift+Enter, or its button."),
      error => live.forget(`${error.message} Run a cell to try again.`));
    live.said.scrollIntoView({ block: "nearest" });
  };
}
