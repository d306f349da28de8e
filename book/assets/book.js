// The book's pages without a widget: theme, contents, search field, copy buttons, current section.
// Everything that it offers is a convenience; a page without it holds the same text.
"use strict";
{
  const root = document.documentElement;
  const ownAddress = document.currentScript.src;
  const wide = matchMedia("(width >= 1000px)");
  // Storage is shared by every book of an origin and may be refused: own prefix, own version, never fatal.
  const store = {
    get(key) { try { return localStorage.getItem(`attention-book.1.${key}`); } catch { return null; } },
    set(key, value) { try { localStorage.setItem(`attention-book.1.${key}`, value); } catch { /* refused */ } },
  };

  // --- theme: as the system says, or as the reader says ---
  const themes = ["auto", "light", "dark"];
  const themeButton = document.getElementById("theme");
  const showTheme = theme => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    themeButton.textContent = `Theme: ${theme}`;
  };
  showTheme(themes.includes(store.get("theme")) ? store.get("theme") : "auto");
  themeButton.addEventListener("click", () => {
    const theme = themes[(themes.indexOf(root.dataset.theme ?? "auto") + 1) % themes.length];
    store.set("theme", theme);
    showTheme(theme);
  });

  // --- contents: a column that can be put away, a drawer where the page is narrow ---
  const link = document.getElementById("contents-toggle");
  const toggle = document.createElement("button");
  toggle.type = "button";
  toggle.id = link.id;
  toggle.className = link.className;
  toggle.textContent = link.textContent;
  toggle.setAttribute("aria-controls", "contents");
  link.replaceWith(toggle);
  const contents = document.getElementById("contents");
  const isShown = () => wide.matches ? !root.classList.contains("contents-hidden") : root.classList.contains("contents-open");
  const tell = () => toggle.ariaExpanded = isShown();
  const show = shown => {
    if (wide.matches) {
      root.classList.toggle("contents-hidden", !shown);
      store.set("contents", shown ? "shown" : "hidden");
    } else root.classList.toggle("contents-open", shown);
    tell();
  };
  toggle.addEventListener("click", () => show(!isShown()));
  wide.addEventListener("change", tell);
  contents.addEventListener("click", event => {
    if (!wide.matches && event.target.closest("a")) show(false);
  });
  contents.addEventListener("keydown", event => {
    if (event.key !== "Escape" || wide.matches) return;
    show(false);
    toggle.focus();
  });
  tell();
  const current = contents.querySelector("[aria-current=page]");
  if (current && current.offsetTop > contents.clientHeight * 0.8) contents.scrollTop = current.offsetTop - 120;

  // --- search: `/` goes to the field; its page alone loads the index ---
  const field = document.getElementById("search-field");
  document.addEventListener("keydown", event => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.composedPath()[0];
    if (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
    event.preventDefault();
    show(true);
    field.focus();
  });
  for (const form of document.querySelectorAll("form.search")) {
    form.addEventListener("submit", event => {
      event.preventDefault(); // the page's policy lets no form go anywhere; this stays in the book
      const words = form.elements.q.value.trim();
      if (!words) return;
      const place = new URL(form.getAttribute("action"), location.href); // from the search page to itself: "#"
      place.search = `?q=${encodeURIComponent(words)}`;
      place.hash = "";
      location.href = place.href;
    });
  }

  // --- code: copy it; what is wider than the page can be scrolled by keyboard ---
  for (const block of document.querySelectorAll("main .highlight")) {
    if (block.closest(".cell_output")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(block.querySelector("pre").textContent);
        button.textContent = "Copied";
      } catch { button.textContent = "Not allowed"; }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.append(button);
  }
  const markScrollers = () => {
    for (const box of document.querySelectorAll("main pre, main .scroll, .formula > math")) {
      if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  new ResizeObserver(markScrollers).observe(root);

  // --- a browser shows a file from the disk, and does not save it ---
  const notebook = document.querySelector("#run a[download]");
  if (notebook && location.protocol === "file:") {
    notebook.target = "_blank";
    notebook.textContent += ": it opens as text, Ctrl+S saves it";
  }

  // --- live cells: what runs them is fetched when a reader asks for it ---
  const handed = /^#live=(\d+\/[\w-]+)$/.exec(location.hash); // as `make serve` prints it
  if (handed) {
    store.set("live", handed[1]);
    history.replaceState(null, "", location.pathname + location.search);
  }
  const liveButton = document.getElementById("live");
  const local = /^(127\.0\.0\.1|localhost)$/.test(location.hostname) ? store.get("live") : null;
  if (liveButton && (local || liveButton.dataset.binder)) {
    liveButton.hidden = false;
    liveButton.addEventListener("click", async () => {
      liveButton.disabled = true;
      liveButton.closest("[popover]").hidePopover();
      for (const name of ["kernel.js", "live.js"]) {
        await new Promise(done => {
          const script = document.createElement("script");
          script.src = new URL(name, ownAddress);
          script.onload = done;
          document.head.append(script);
        });
      }
      window.bookLive({ local, ...liveButton.dataset });
    });
  }

  // --- exercises: what a reader ticks stays in this browser, and can be taken along or cleared ---
  const asked = new Map();
  for (const section of document.querySelectorAll("section[id^=exercise-]"))
    asked.set(section.id.slice("exercise-".length), section);
  if (asked.size) {
    const element = (name, properties, ...inside) => {
      const made = Object.assign(document.createElement(name), properties);
      made.append(...inside);
      return made;
    };
    const read = text => {
      try {
        const ids = JSON.parse(text).done;
        return new Set(ids.filter(id => /^[a-z-]{1,40}$/.test(id)));
      } catch { return null; }
    };
    let done = read(store.get("exercises")) ?? new Set();
    const written = () => JSON.stringify({ book: "attention-book", version: 1, done: [...done].sort() });
    const keep = () => { store.set("exercises", written()); tellProgress(); };

    const boxes = new Map();
    for (const [id, section] of asked) {
      const box = element("input", { type: "checkbox", ariaLabel: `Done: ${id}` });
      box.addEventListener("change", () => { done[box.checked ? "add" : "delete"](id); keep(); });
      section.querySelector("h3").after(element("label", { className: "done" }, box, "Done"));
      boxes.set(id, box);
    }
    // One line for each group of exercises: a chapter's own, or each chapter's on the list page.
    const counts = new Map();
    for (const section of asked.values()) {
      const group = section.parentElement;
      if (!counts.has(group)) {
        counts.set(group, element("p", { className: "count", role: "status" }));
        group.querySelector("h2").after(counts.get(group));
      }
    }
    const tellProgress = () => {
      for (const [id, box] of boxes) box.checked = done.has(id);
      for (const [group, line] of counts) {
        const inside = [...asked].filter(([, section]) => section.parentElement === group);
        line.textContent = `${inside.filter(([id]) => done.has(id)).length} of ${inside.length} done`;
      }
    };

    if (counts.size > 1) { // the list page: take it along, bring it back, clear it
      const said = element("span", { role: "status" });
      const button = (text, act) => {
        const made = element("button", { type: "button", textContent: text });
        made.addEventListener("click", () => act(made));
        return made;
      };
      const save = button("Save to a file", () => {
        const url = URL.createObjectURL(new Blob([written()], { type: "application/json" }));
        element("a", { href: url, download: "attention-exercises.json" }).click();
        setTimeout(() => URL.revokeObjectURL(url), 1000);
        said.textContent = "Saved.";
      });
      const file = element("input", { type: "file", accept: ".json", hidden: true });
      file.addEventListener("change", async () => {
        const ids = file.files[0].size < 1e5 ? read(await file.files[0].text()) : null;
        if (ids) { done = ids; keep(); }
        said.textContent = ids ? "Loaded." : "That is no file of this page.";
        file.value = "";
      });
      const clear = button("Clear", made => {
        if (made.textContent === "Clear") { made.textContent = "Clear all ticks?"; return; }
        done.clear();
        keep();
        made.textContent = "Clear";
        said.textContent = "Cleared.";
      });
      clear.addEventListener("blur", () => { clear.textContent = "Clear"; });
      const kept = store.set("kept", "yes") ?? store.get("kept") === "yes";
      const where = kept
        ? "What you tick as done is kept in this browser, for whoever uses it."
        : "This browser keeps nothing, so save your ticks before you leave.";
      const tools = element("div", { className: "progress" },
        element("p", {}, where),
        element("div", {}, save, button("Load a file", () => file.click()), file, clear, said));
      document.querySelector("main h2").parentElement.before(tools);
    }
    addEventListener("storage", event => {
      if (event.key?.endsWith(".exercises")) { done = read(event.newValue) ?? new Set(); tellProgress(); }
    });
    tellProgress();
  }

  // --- the section in view is marked in the contents ---
  const entries = new Map();
  for (const a of contents.querySelectorAll(".sections a")) {
    const section = document.getElementById(decodeURIComponent(a.hash.slice(1)));
    if (section) entries.set(section, a);
  }
  const inView = new Set();
  const observer = new IntersectionObserver(changes => {
    for (const change of changes) inView[change.isIntersecting ? "add" : "delete"](change.target);
    const deepest = [...entries.keys()].findLast(section => inView.has(section));
    for (const [section, a] of entries) a.ariaCurrent = section === deepest || null;
  }, { rootMargin: "-10% 0px -70% 0px" });
  for (const section of entries.keys()) observer.observe(section);
}
