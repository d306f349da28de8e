// The search page: sections that hold what was typed, the closest first. Text is cut into words and single signs, so
// that code and error messages are found as they stand; numbers in them are the reader's own and match any number.
"use strict";
{
  const SHOWN = 20;
  const LONGEST = 40; // an error message has less; what is pasted beyond that adds nothing
  // "√" is how the book writes it, "sqrt" how people type it.
  const cut = text => (text.normalize("NFKC").toLowerCase().replaceAll("sqrt", " √ ").match(/[\p{L}\p{N}_]+|[^\s]/gu) ?? [])
    .map(token => /^\p{N}/u.test(token) ? token.replace(/\p{N}+/gu, "0") : token);
  // What one looks up in the table of names: n_embd, Sq; a word of prose is none.
  const isSymbol = query => /^(\S{1,2}|\p{Lu}\S*|\w+_\w*)$/u.test(query.trim());
  const isWord = token => /[\p{L}√]/u.test(token);
  const bare = word => word.length > 5 ? word.replace(/(?:ing|ed|es|s|e)$/, "") : word.replace(/(?<=\w{3})s$/, "");
  const SAME = new Map([["axi", "dim"], ["axe", "dim"], ["dimension", "dim"]]); // one thing under several names
  const stem = word => SAME.get(bare(word)) ?? bare(word);

  /** The stem of a word; of masked_fill also mask, fill and maskedfill. */
  const stems = word => [word, ...(/\w_\w/.test(word) ? [word.replaceAll("_", ""), ...word.split("_")] : [])].map(stem);

  const counted = words => {
    const counts = new Map();
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    return counts;
  };

  const sections = window.searchIndex.map(([address, title, heading, text]) => {
    const tokens = cut(`${heading} ${text}`);
    const words = tokens.filter(isWord);
    return {
      address, title, heading, text,
      line: ` ${tokens.join(" ")} `,
      words: counted(words.flatMap(stems)),
      long: tokens.length / 250, // a usual section is 1
      names: address.startsWith("book/notation.html"),
      headed: new Set(cut(`${heading} ${title} ${address.split("#")[0]}`).filter(isWord).map(stem)),
    };
  });
  const holders = new Map();
  for (const { words } of sections) for (const word of words.keys()) holders.set(word, (holders.get(word) ?? 0) + 1);
  const worth = word => Math.log(1 + sections.length / (holders.get(word) ?? sections.length));

  /** How many of the tokens stand in a row in a line, at most. */
  const longestRun = (tokens, line) => {
    let best = 0;
    for (let from = 0; from + best < tokens.length; from++)
      while (from + best < tokens.length && line.includes(` ${tokens.slice(from, from + best + 1).join(" ")} `)) best++;
    return best;
  };

  /** Sections that hold the tokens, best first: rare words count most, and words that stand as they were typed. */
  const find = query => {
    const tokens = cut(query).slice(0, LONGEST);
    const words = [...new Set(tokens.filter(isWord).map(stem))];
    if (!tokens.length) return [];
    const begun = /[\p{L}\p{N}_]$/u.test(query) && words.at(-1)?.length > 2 ? words.at(-1) : null; // still being typed
    const symbol = isSymbol(query);
    const all = words.reduce((sum, word) => sum + worth(word), 0);
    const found = [];
    for (const [place, section] of sections.entries()) {
      const has = word => section.words.has(word) ? 1
        : word === begun && [...section.words.keys()].some(other => other.startsWith(word)) ? 0.7 : 0;
      const held = words.reduce((sum, word) => sum + has(word) * worth(word), 0);
      const run = longestRun(tokens, section.line);
      if (words.length ? held < 0.6 * all : run < tokens.length) continue;
      const headed = words.reduce((sum, word) => sum + (section.headed.has(word) ? worth(word) : 0), 0);
      const often = word => (section.words.get(word) ?? 0) / ((section.words.get(word) ?? 0) + 1 + section.long);
      const about = words.reduce((sum, word) => sum + often(word) * worth(word), 0);
      const early = 1 - place / sections.length; // the book explains first and lists afterwards
      const score = (held + headed / 2 + about) / (all || 1) + 2 * run / tokens.length + early / 2 + (symbol && section.names);
      found.push({ section, score });
    }
    return found.sort((a, b) => b.score - a.score).map(({ section }) => section);
  };

  // --- what is shown: the place, and the words around the first hit ---
  const element = (name, properties, ...inside) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...inside);
    return made;
  };
  const preview = (text, query) => {
    const words = cut(query).filter(token => isWord(token)).sort((a, b) => b.length - a.length);
    const low = text.toLowerCase();
    const typed = low.indexOf(query.toLowerCase().trim());
    const first = typed >= 0 ? typed : words.map(word => low.indexOf(word)).find(at => at >= 0);
    const from = Math.max(0, (first ?? 0) - 60);
    const start = from && text.indexOf(" ", from) + 1;
    const piece = text.slice(start, start + 200);
    const line = element("p", {}, start ? "… " : "");
    const marks = typed >= 0 ? [query.trim()] : words;
    const escaped = marks.map(mark => mark.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
    const parts = escaped.length ? piece.split(new RegExp(`((?<![\\p{L}_])(?:${escaped.join("|")}))`, "iu")) : [piece];
    parts.forEach((part, i) => line.append(i % 2 ? element("mark", {}, part) : part));
    if (start + 200 < text.length) line.append(" …");
    return line;
  };

  const root = document.documentElement.dataset.content_root;
  const field = document.getElementById("page-search-field");
  const said = document.getElementById("search-said");
  const list = document.getElementById("search-results");
  const rest = document.getElementById("search-rest");
  const show = (most = SHOWN) => {
    const query = field.value;
    const found = find(query);
    list.replaceChildren(...found.slice(0, most).map(({ address, title, heading, text }) => {
      const link = element("a", { href: root + address }, heading);
      const place = heading === title ? [] : [element("span", {}, title)];
      return element("li", {}, ...place, link, preview(text, query));
    }));
    const more = found.length > most ? `, the first ${most} of them here` : "";
    rest.hidden = !more;
    const places = found.length === 1 ? "1 place" : `${found.length} places`;
    said.textContent = !query.trim() ? "" : found.length ? `${places}${more}` : "Nothing in the book holds that.";
  };
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.addEventListener("input", () => show());
  rest.addEventListener("click", () => {
    show(Infinity);
    list.children[SHOWN].querySelector("a").focus();
  });
  field.focus();
  show();
}
