// Everything that comes from documents or terminologies enters the page as text nodes, never as markup.
const MAX_LINES = 6;     // underlines stacked below one stretch of text; deeper mentions keep their tint and card
const LINE = 4;          // pixels from one underline to the next
const COLOURS = 7;       // categories with a colour of their own; the rest share OTHER
const OTHER = 7, NONE = 8;
const LIST_LIMIT = 1000; // entries drawn in a list; the filter reaches the others
const HIDE_AFTER = 300;  // ms: time to move the pointer from a mention to its card
const NARROWEST = 50, WIDEST = 110; // characters of a line: those of letters that were wrapped by hand
const GAP = 3, MARGIN = 8, ENOUGH = 300; // pixels around the card, and room that lets it open below
const STROKES = [[8, 0], [8, 3], [2, 3], [9, 2, 2, 2], [4, 4], [9, 2, 2, 2, 2, 2], [1, 2], [3, 0], [2, 6]];
const SOURCES = { gold: "gold standard", user: "marked by a person", pred: "predicted" };
const MARKS = { gold: "G", user: "U", pred: "" };
const SAID = { // what the text says of a finding: how it is marked, and what the mark means
  negated: ["no", "negated"], uncertain: ["maybe", "uncertain"], family: ["family", "of a relative"],
  hypothetical: ["if", "may come"], historical: ["past", "is over"], "family (denied)": ["no relative", "of no relative"],
};
const CALIBRATION = {
  joint: "calibrated: chance that marked words and concept are both right",
  "given-span": "calibrated: chance that the concept is right for the marked words",
  "": "not calibrated: for ranking, not a measured chance",
};

const $ = (id) => document.getElementById(id);
const islands = [...document.querySelectorAll("script[data-index]")];
const index = islands.map((island, n) => {
  const [id, count, snippet, ids, types, terminologies = []] = JSON.parse(island.dataset.index);
  return { n, id, count, snippet, ids, types, terminologies };
});
const concepts = new Map(Object.entries(JSON.parse($("concepts").textContent)));
const card = $("card");
let doc = null;          // the document on show
let ranks = new Map();   // category -> its place among those of the whole page, commonest first
let slots = new Map();   // category -> colour in this document
let current = -1;        // the mention that n and p count from
let shown = null;        // { mention, node, rect }: what the card is about
let pinned = false, returning = false, timer = 0;

// --- small helpers ---------------------------------------------------------------------------------------------------

function el(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children.filter((child) => child !== null && child !== ""));
  return node;
}
const nameOf = (id) => concepts.get(id)?.n ?? id;
const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
function percent(p) {
  if (p > 0 && p < 0.001) return "<0.1%";
  if (p < 1 && p > 0.999) return ">99.9%";
  const digits = p < 0.01 || p > 0.99 ? 1 : 0;
  return `${(100 * p).toFixed(p === 0 || p === 1 ? 0 : digits)}%`;
}
const number = (x) => String(Number(x.toPrecision(4)));
// A line of a letter that was broken because its next word had no room goes on in the next one. Same length in and out.
function joined(text) {
  const width = Math.max(...text.split("\n").map((line) => line.length).filter((length) => length <= WIDEST), 0);
  if (width < NARROWEST) return text;
  return text.replace(/([^\n]+)\n(?=(\S+))/g, (all, line, word) => {
    const broken = line.trimStart().length >= NARROWEST / 2 && line.length + 1 + word.length > width;
    return broken && !/^([-*\u2022\u00b7]|\d+[.)])/.test(word) ? `${line} ` : all;
  });
}
// same length in and out, so that offsets stay right: control characters and broken halves of pairs become visible
function visible(text) {
  return text
    .replace(/\r(?=\n)/g, "\u200b").replace(/\r/g, "\n")
    .replace(/[\u0000-\u0008\u000b-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/\u007f/g, "\u2421").replace(/[\u0080-\u009f]|\p{Cs}/gu, "\ufffd");
}
const surface = (m) => m.s.map(([a, b]) => doc.text.slice(a, b)).join(" \u2026 ");
function title(m) {
  if (!m.c) return "Not linked yet";
  return m.c.length ? m.c.map(nameOf).join(" + ") : "No concept (NIL)";
}

// --- colours ---------------------------------------------------------------------------------------------------------

const by = () => $("colour").value; // branch, type or terminology
function category(m) {
  if (by() === "terminology") return m.v;
  if (by() === "type") return m.t[0] ?? "";
  return m.c?.length ? concepts.get(m.c[0])?.b ?? "" : null;
}
const colour = (key) => (key === null ? NONE : slots.get(key) ?? OTHER);
function label(key) {
  if (key === null) return "? no concept";
  if (!slots.has(key)) return by() === "branch" ? "other branches" : `other or no ${by()}`;
  return by() === "branch" ? nameOf(key) : key;
}
function rank() {
  const counts = new Map();
  for (const entry of index) {
    const branches = () => entry.ids.map((id) => concepts.get(id)?.b ?? "");
    const keys = by() === "branch" ? branches() : by() === "type" ? entry.types : entry.terminologies;
    for (const key of new Set(keys)) if (key) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const order = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  ranks = new Map(order.map(([key], i) => [key, i]));
}
// The commonest categories have the same colour in every document; the others take what a document leaves free.
function assignColours() {
  const here = [...new Set(doc.mentions.map(category))].filter((key) => ranks.has(key));
  here.sort((a, b) => ranks.get(a) - ranks.get(b));
  const free = new Set(Array(COLOURS).keys());
  slots = new Map();
  for (const key of here) {
    const slot = free.has(ranks.get(key)) ? ranks.get(key) : [...free].at(-1);
    if (slot === undefined) break;
    free.delete(slot);
    slots.set(key, slot);
  }
}
function stroke(c, ink = `var(--c${c})`) {
  let at = 0;
  const stops = STROKES[c].map((width, i) => {
    const stop = `${i % 2 ? "transparent" : ink} ${at}px ${at + width}px`;
    at += width;
    return stop;
  });
  return `repeating-linear-gradient(90deg, ${stops.join(", ")})`;
}

// --- the text --------------------------------------------------------------------------------------------------------

const cover = (m, visit) => m.parts.forEach(([from, to]) => { for (let i = from; i < to; i++) visit(i); });

// Cuts the text at every border of a mention. Short mentions go first, so they lie nearest to the text and in front.
function layOut() {
  const cuts = new Set([0, doc.text.length]);
  for (const m of doc.mentions) for (const [a, b] of m.s) cuts.add(a).add(b);
  doc.borders = Uint32Array.from(cuts).sort();
  const place = new Map(Array.from(doc.borders, (border, i) => [border, i]));
  const count = doc.borders.length - 1, used = new Uint8Array(count);
  doc.front = new Int32Array(count).fill(-1);
  doc.lines = new Int32Array(count * MAX_LINES).fill(-1);
  doc.depth = 1;
  const size = (m) => m.s.reduce((sum, [a, b]) => sum + b - a, 0);
  for (const m of [...doc.mentions].sort((a, b) => size(a) - size(b))) {
    m.parts = m.s.map(([a, b]) => [place.get(a), place.get(b)]);
    let taken = 0, line = 0;
    cover(m, (i) => { taken |= used[i]; if (doc.front[i] < 0) doc.front[i] = m.i; });
    while (taken >> line & 1) line++;
    if (line >= MAX_LINES) continue;
    cover(m, (i) => { used[i] |= 1 << line; doc.lines[i * MAX_LINES + line] = m.i; });
    doc.depth = Math.max(doc.depth, line + 1);
  }
}
function paint(i) {
  const node = doc.nodes[i], images = [], places = [];
  let depth = MAX_LINES;
  while (depth > 1 && doc.lines[i * MAX_LINES + depth - 1] < 0) depth--;
  let front = doc.mentions[doc.front[i]];
  for (let line = MAX_LINES - 1; line >= 0; line--) {
    const m = doc.mentions[doc.lines[i * MAX_LINES + line]];
    if (!m) continue;
    images.push(stroke(m.colour, m.dim ? "var(--dim)" : undefined));
    places.push(`left 0 bottom ${(depth - 1 - line) * LINE}px`);
    if (front.dim && !m.dim) front = m;
  }
  node.style.backgroundImage = images.join(", ");
  node.style.backgroundPosition = places.join(", ");
  node.style.paddingBottom = `${depth * LINE - 1}px`; // as deep as needed here; the lines still meet their neighbours
  node.className = `seg ${front.dim ? "dim" : `t${front.colour}`}${SAID[front.as] ? " apart" : ""}`;
}
function drawText() {
  const text = $("text"), shownText = visible(joined(doc.text)), pieces = document.createDocumentFragment();
  doc.nodes = [];
  for (let i = 0; i + 1 < doc.borders.length; i++) {
    const piece = shownText.slice(doc.borders[i], doc.borders[i + 1]);
    if (doc.front[i] < 0) { pieces.append(piece); continue; }
    doc.nodes[i] = el("span", { textContent: piece });
    doc.nodes[i].dataset.seg = i;
    pieces.append(doc.nodes[i]);
  }
  for (const m of doc.mentions) {
    const first = doc.nodes[m.parts[0][0]];
    Object.assign(first, { tabIndex: 0, role: "button", ariaExpanded: "false" });
    addMark(first, [MARKS[m.o] + (m.c?.length ? "" : "?"), SAID[m.as]?.[0]].filter(Boolean).join(" "));
    for (const [from] of m.parts.slice(1)) addMark(doc.nodes[from], "\u2026");
  }
  text.replaceChildren(pieces);
  if (!doc.text) text.append(el("p", { textContent: "This document has no text." }));
  text.style.lineHeight = `calc(1.6em + ${doc.depth * LINE}px)`;
}
function addMark(node, mark) {
  if (mark && !node.dataset.mark?.includes(mark)) node.dataset.mark = (node.dataset.mark ?? "") + mark;
}
function recolour() {
  assignColours();
  for (const m of doc.mentions) m.colour = colour(category(m));
  for (const i in doc.nodes) paint(i);
  const counts = new Map();
  for (const m of doc.mentions) {
    const key = category(m), slot = colour(key);
    counts.set(slot, { text: label(key), count: (counts.get(slot)?.count ?? 0) + 1 });
  }
  const entries = [...counts].sort((a, b) => a[0] - b[0]).map(([slot, { text, count }]) => {
    const swatch = el("span", { className: `swatch t${slot}` });
    swatch.style.background = `${stroke(slot)} left 0 bottom 0 / 100% 3px repeat-x`;
    return el("li", {}, swatch, el("span", {}, `${text} (${count})`));
  });
  const marks = [["G", SOURCES.gold, (m) => m.o === "gold"], ["U", SOURCES.user, (m) => m.o === "user"],
    ["?", "no concept", (m) => !m.c?.length && m.colour !== NONE], ["\u2026", "goes on here", (m) => m.s.length > 1]];
  for (const [mark, meaning, holds] of marks) {
    if (!doc.mentions.some(holds)) continue;
    entries.push(el("li", {}, el("span", { className: "mark", textContent: mark }), meaning));
  }
  for (const [as, [mark, meaning]] of Object.entries(SAID)) {
    const count = doc.mentions.filter((m) => m.as === as).length;
    if (count) entries.push(el("li", {}, el("span", { className: "mark", textContent: mark }), `${meaning} (${count})`));
  }
  $("legend").replaceChildren(...entries);
}

// --- the document and its lists --------------------------------------------------------------------------------------

function markCurrent(button, here) {
  if (here) button.setAttribute("aria-current", "true");
  else button.removeAttribute("aria-current");
}
// scrolls the list alone: scrollIntoView would also move the page, and the warning at its top out of sight
function reveal(button) {
  for (const box of [$("documents"), $("documents").parentElement]) {
    const inner = button.getBoundingClientRect(), outer = box.getBoundingClientRect();
    box.scrollTop += Math.min(0, inner.top - outer.top) + Math.max(0, inner.bottom - outer.bottom);
  }
}
function open(n) {
  if (!(n >= 0 && n < islands.length)) return;
  hide();
  doc = { n, ...JSON.parse(islands[n].textContent) };
  doc.looked = doc.mentions !== null;
  doc.mentions = (doc.mentions ?? []).map((m, i) => ({ i, c: null, t: [], o: "pred", k: "", v: "", as: "", x: [], dim: false, ...m }));
  current = -1;
  layOut();
  drawText();
  $("name").textContent = visible(doc.id);
  $("summary").textContent = doc.looked ? plural(doc.mentions.length, "mention") : "not looked at yet";
  $("previous").disabled = n === 0;
  $("next").disabled = n === islands.length - 1;
  for (const button of $("documents").querySelectorAll("button")) {
    const here = Number(button.dataset.n) === n;
    markCurrent(button, here);
    if (here) reveal(button);
  }
  recolour();
  dim();
  document.querySelector("main").scrollTop = 0;
  if (self === top) history.replaceState(null, "", `#${n + 1}`); // a frame that holds its page has no address
}
function rows() {
  const found = new Map();
  for (const m of doc.mentions) {
    for (const id of m.c?.length ? m.c : [null]) {
      const key = `${m.as in SAID ? m.as : ""} ${id ?? ""}`;
      const row = found.get(key) ?? { id, as: m.as, first: m.i, count: 0, best: -1, dim: true };
      row.count++;
      if ((m.p ?? -1) > row.best) [row.best, row.star] = [m.p, m.k ? "" : "*"];
      row.dim &&= m.dim;
      found.set(key, row);
    }
  }
  const all = [...found.values()];
  return [...all.filter((row) => !SAID[row.as]), ...all.filter((row) => SAID[row.as])]; // the patient's first
}
function drawFound() {
  const matching = matches(), all = rows(), kept = all.filter((row) => matching?.has(row.id));
  const list = kept.length ? kept : all;
  $("found").replaceChildren(...list.slice(0, LIST_LIMIT).map((row) => {
    const textContent = row.id ? nameOf(row.id) : "no concept";
    const jump = el("button", { type: "button", className: "jump", textContent });
    jump.dataset.mention = row.first;
    const id = el("div", { className: "small", textContent: [row.id, SAID[row.as]?.[1]].filter(Boolean).join(" \u00b7 ") });
    const best = row.best < 0 ? "\u2013" : percent(row.best) + row.star;
    return el("tr", { className: row.dim ? "faint" : "" }, el("th", { scope: "row" }, jump, id),
      el("td", { textContent: row.count }), el("td", { textContent: best }));
  }));
  $("star").hidden = !list.some((row) => row.star);
  const hidden = all.length - Math.min(list.length, LIST_LIMIT);
  const none = doc.looked ? "No mentions were found in this document." : "This document has not been looked at yet.";
  $("found-more").textContent = all.length ? (hidden ? `${plural(hidden, "concept")} not shown (filter)` : "") : none;
}
// ids of the concepts that hold every word of the filter; null without a filter
function matches() {
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  const hit = ([id, c]) => {
    const text = [id, c.n, ...(c.s ?? [])].join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return new Set([...concepts].filter(hit).map(([id]) => id));
}
function drawDocuments() {
  const matching = matches(), query = $("filter").value.trim().toLowerCase();
  const list = index.filter((entry) => !matching || entry.id.toLowerCase().includes(query)
    || entry.ids.some((id) => matching.has(id)));
  $("documents").replaceChildren(...list.slice(0, LIST_LIMIT).map((entry) => {
    const button = el("button", { type: "button" }, el("bdi", { textContent: visible(entry.id) }),
      el("span", { className: "count small", textContent: entry.count, title: plural(entry.count, "mention") }),
      el("bdi", { className: "small", textContent: visible(entry.snippet) }));
    button.dataset.n = entry.n;
    markCurrent(button, entry.n === doc?.n);
    return el("li", {}, button);
  }));
  if (matching && list.length && doc && !list.includes(index[doc.n])) open(list[0].n);
  const more = list.length > LIST_LIMIT ? `, first ${LIST_LIMIT} shown` : "";
  $("documents-count").textContent = (matching ? `${list.length} of ${index.length}` : `${index.length}`) + more;
}
function dim() {
  const level = Number($("threshold").value) / 100;
  const wanted = $("assertion").value;
  let below = 0;
  const changed = new Set();
  for (const m of doc.mentions) {
    const low = m.o === "pred" && m.p !== undefined && m.p < level;
    const now = low || (wanted !== "" && (m.as || "affirmed") !== wanted);
    below += low;
    if (now !== m.dim) { m.dim = now; cover(m, (i) => changed.add(i)); }
  }
  changed.forEach(paint);
  light(shown?.mention);
  $("level").textContent = `${$("threshold").value}%`;
  const unsure = doc.mentions.some((m) => m.p === undefined) ? "; those without a probability stay" : "";
  $("below").textContent = level ? `${below} of ${doc.mentions.length} below${unsure}` : "";
  drawFound();
}
