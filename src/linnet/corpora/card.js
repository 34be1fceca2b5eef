// The second half of the page's script (one module with page.js): the card of a mention, and what people do.
// --- the card --------------------------------------------------------------------------------------------------------

function light(m) {
  for (const node of $("text").querySelectorAll(".on, .kin")) node.classList.remove("on", "kin");
  if (!m) return;
  const kin = m.g ? doc.mentions.filter((other) => other.g === m.g) : [];
  for (const other of kin) cover(other, (i) => doc.nodes[i].classList.add("kin"));
  cover(m, (i) => doc.nodes[i].classList.add("on"));
}
function curie(id) {
  if (!/^HP:\d{7}$/.test(id)) return el("span", { textContent: id });
  const href = `https://hpo.jax.org/browse/term/${id}`;
  return el("a", { href, textContent: id, rel: "noreferrer noopener", target: "_blank", title: "opens hpo.jax.org" });
}
// two concepts are right together or not at all, so the chance is said once, under the first
function chancePart(m) {
  if (m.p === undefined) return el("div", { className: "chance small", textContent: "No probability given." });
  const wording = el("span", { className: "small", textContent: CALIBRATION[m.k] });
  const bar = el("meter", { value: m.p, ariaHidden: "true" });
  return el("div", { className: "chance" }, bar, el("strong", { textContent: percent(m.p) }), wording);
}
const addFact = (facts, name, value) => facts.append(el("dt", { textContent: name }), el("dd", {}, value));
const small = (tag, text) => el(tag, { className: "small", textContent: text });
function conceptPart(id, chance) {
  const c = concepts.get(id), facts = el("dl");
  const fact = (name, value) => value && addFact(facts, name, value);
  const synonyms = c?.s ?? [], extra = synonyms.length > 8 ? ` (and ${synonyms.length - 8} more)` : "";
  fact("Also called", synonyms.slice(0, 8).join("; ") + extra);
  fact("A kind of", (c?.p ?? []).join("; "));
  fact("Branch", c?.b && c.b !== id ? nameOf(c.b) : "");
  if (c?.r) fact("Retired", `now ${c.r}`);
  const missing = c ? "No definition." : "Not in the knowledge base of this page.";
  return el("section", {}, el("h3", { dir: "auto", textContent: nameOf(id) }), curie(id), chance,
    el("p", { className: c?.d ? "definition" : "small", dir: "auto", textContent: c?.d || missing }), facts);
}
function answerPart(m) {
  const facts = el("dl"), fact = (name, value) => addFact(facts, name, value);
  if (m.s.length > 1) fact("Marked text", el("bdi", { textContent: visible(surface(m)) }));
  if (SAID[m.as]) fact("The text says", SAID[m.as][1]);
  if (m.o !== "pred") fact("Source", SOURCES[m.o]);
  if (m.t.length) fact("Type", m.t.join(" \u00b7 "));
  if (m.v) fact("Terminology", m.v);
  if (m.a) fact("Also accepted", m.a.map((ids) => ids.map((id) => `${nameOf(id)} (${id})`).join(" + ")).join("; "));
  return facts.children.length ? el("section", {}, facts) : "";
}
function runnersPart(m) {
  const runners = m.x.filter(([id]) => !(id && m.c?.includes(id)));
  if (!runners.length) return small("p", "No other candidates.");
  const items = runners.map(([id, score, known]) => el("li", {},
    el("span", { title: `score ${number(score)}` }, id ? known ?? nameOf(id) : "No concept (NIL)", " ", small("span", id ?? ""))));
  const more = m.y ? small("p", `and ${plural(m.y, "candidate")} more`) : "";
  return el("section", {}, small("div", "Other candidates"), el("ul", {}, ...items), more);
}
function othersPart(m, seg) {
  const [a, b] = [doc.borders[seg], doc.borders[seg + 1]];
  const others = doc.mentions.filter((other) => other !== m && other.s.some(([from, to]) => from <= a && b <= to));
  if (!others.length) return "";
  const buttons = others.slice(0, 20).map((other) => {
    const from = other.v && other.v !== m.v ? ` (${other.v})` : "";
    const textContent = `${visible(surface(other).slice(0, 60))}: ${title(other)}${from}`;
    const button = el("button", { type: "button", textContent });
    button.dataset.mention = other.i;
    return button;
  });
  return el("section", {}, small("p", "Also marked here"), el("div", { className: "others" }, ...buttons));
}
function show(m, node, y) {
  clearTimeout(timer);
  if (shown?.mention === m && shown.node === node) return;
  hide();
  const boxes = [...node.getClientRects()];
  shown = { mention: m, node, box: Math.max(0, boxes.findIndex((box) => y >= box.top && y <= box.bottom)) };
  const chance = chancePart(m);
  const heads = m.c?.length ? m.c.map((id, i) => conceptPart(id, i ? null : chance))
    : [el("section", {}, el("h3", { textContent: title(m) }), chance)];
  card.replaceChildren(...heads, answerPart(m), runnersPart(m), othersPart(m, Number(node.dataset.seg)));
  card.hidden = false;
  card.scrollTop = 0;
  if (node.tabIndex === 0) node.ariaExpanded = "true";
  light(m);
  place();
}
function place() {
  if (!shown) return;
  const box = shown.node.getClientRects()[shown.box] ?? shown.node.getBoundingClientRect();
  if (box.bottom < 0 || box.top > innerHeight) return hide();
  card.style.maxHeight = `${innerHeight - 2 * MARGIN}px`;
  const height = card.offsetHeight, above = box.top - GAP - MARGIN, below = innerHeight - box.bottom - GAP - MARGIN;
  const under = height <= below || below >= Math.min(above, ENOUGH); // above it would hide what was just read
  const room = Math.max(Math.min(height, under ? below : above), Math.min(height, 160));
  const top = under ? box.bottom + GAP : box.top - GAP - room;
  card.style.maxHeight = `${room}px`;
  card.style.top = `${Math.max(MARGIN, Math.min(top, innerHeight - MARGIN - room))}px`;
  const furthest = document.documentElement.clientWidth - MARGIN - card.offsetWidth;
  card.style.left = `${Math.max(MARGIN, Math.min(box.left, furthest))}px`;
}
function hide() {
  clearTimeout(timer);
  if (!shown) return;
  if (shown.node.tabIndex === 0) shown.node.ariaExpanded = "false";
  shown = null;
  pinned = false;
  card.hidden = true;
  light(null);
}
function go(i) {
  const m = doc.mentions[i], node = m && doc.nodes[m.parts[0][0]];
  if (!node) return;
  current = i;
  node.focus({ preventScroll: true });
  node.scrollIntoView({ block: "nearest" });
  show(m, node);
  const chance = m.p === undefined ? "" : `, ${percent(m.p)} ${m.k ? "calibrated" : "not calibrated"}`;
  const said = SAID[m.as] ? `, ${SAID[m.as][1]}` : "";
  $("live").textContent = `${surface(m)}: ${title(m)}${said}${chance}. Mention ${i + 1} of ${doc.mentions.length}.`;
}
function step(by) {
  let i = current < 0 && by < 0 ? doc.mentions.length : current;
  do i += by; while (doc.mentions[i]?.dim);
  if (doc.mentions[i]) go(i);
}

// --- what people do --------------------------------------------------------------------------------------------------

const segment = (event) => event.target.closest?.(".seg");
const frontOf = (node) => doc.mentions[doc.front[Number(node.dataset.seg)]];
// several mentions may start at one place: the one that n and p stand on, else the first
function startingAt(node) {
  const starting = doc.mentions.filter((m) => doc.nodes[m.parts[0][0]] === node);
  return starting.find((m) => m.i === current) ?? starting[0];
}
const later = () => { clearTimeout(timer); if (!pinned) timer = setTimeout(hide, HIDE_AFTER); };

$("text").addEventListener("mouseover", (event) => {
  const node = segment(event);
  if (node && !pinned) show(frontOf(node), node, event.clientY);
});
$("text").addEventListener("mouseout", later);
card.addEventListener("mouseenter", () => clearTimeout(timer));
card.addEventListener("mouseleave", later);
$("text").addEventListener("focusin", (event) => {
  const m = segment(event) && startingAt(event.target);
  if (m && m !== shown?.mention && !returning) go(m.i);
});
$("text").addEventListener("focusout", (event) => { if (!card.contains(event.relatedTarget)) later(); });
card.addEventListener("focusout", (event) => {
  if (event.relatedTarget && !card.contains(event.relatedTarget)) hide();
});
$("text").addEventListener("click", (event) => {
  const node = segment(event);
  if (!node) return hide();
  hide();
  show(frontOf(node), node, event.clientY);
  current = shown.mention.i;
  pinned = true;
});
const follow = (event) => event.target.dataset.mention && go(Number(event.target.dataset.mention));
card.addEventListener("click", follow);
$("found").addEventListener("click", follow);
$("documents").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) open(Number(button.dataset.n));
});
$("previous").addEventListener("click", () => open(doc.n - 1));
$("next").addEventListener("click", () => open(doc.n + 1));
$("filter").addEventListener("input", () => { drawDocuments(); drawFound(); });
$("threshold").addEventListener("input", dim);
$("assertion").addEventListener("change", dim);
$("print-all").addEventListener("click", printAll);
$("colour").addEventListener("change", () => { rank(); recolour(); });
$("help-button").addEventListener("click", () => $("help").showModal());
addEventListener("scroll", place, { capture: true, passive: true });
addEventListener("resize", place);

// Draws one document after the other, and prints copies of them.
function printAll() {
  const here = doc.n;
  const copies = index.map((entry) => {
    open(entry.n);
    return el("section", {}, ...["name", "text", "found-table"].map((id) => $(id).cloneNode(true)));
  });
  for (const node of copies.flatMap((copy) => [...copy.querySelectorAll("[id]")])) node.removeAttribute("id");
  open(here);
  $("batch").replaceChildren(el("div", {}, $("legend").cloneNode(true)), ...copies);
  document.body.classList.add("batch");
  addEventListener("afterprint", () => { document.body.classList.remove("batch"); $("batch").replaceChildren(); }, { once: true });
  window.print();
}
function escape(event) {
  if (event.target === $("filter")) {
    $("filter").value = "";
    $("filter").dispatchEvent(new Event("input"));
    $("filter").blur();
  }
  const back = shown && card.contains(document.activeElement) ? shown.node : null;
  hide();
  returning = true;
  back?.focus();
  returning = false;
}
const KEYS = {
  n: () => step(1), j: () => step(1), p: () => step(-1), k: () => step(-1),
  ArrowRight: () => open(doc.n + 1), ArrowLeft: () => open(doc.n - 1),
  "/": () => { $("filter").focus(); $("filter").select(); }, "?": () => $("help").showModal(),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open || !doc) return;
  const typing = event.target.matches("input, select");
  if (event.key === "Escape") escape(event);
  else if (event.key === "Enter" && event.target === $("filter")) $("documents").querySelector("button")?.click();
  else if ((event.key === "Enter" || event.key === " ") && segment(event)) {
    event.preventDefault();
    if (!shown) go(startingAt(event.target).i);
    pinned = true;
    card.focus();
  } else if (!typing && Object.hasOwn(KEYS, event.key)) {
    event.preventDefault();
    KEYS[event.key]();
  }
});

$("app").hidden = false;
document.body.classList.toggle("framed", self !== top);
document.body.classList.toggle("alone", islands.length < 2);
const several = (key) => new Set(index.flatMap((entry) => entry[key])).size > 1;
$("said").hidden = $("findings").hidden = !islands.some((island) => /"as":"(?!affirmed)/.test(island.textContent));
if (matchMedia("(max-width: 42rem)").matches) $("key").open = false;
$("print-all").hidden = islands.length < 2;
$("colour").querySelector("[value=terminology]").hidden = !several("terminologies");
$("colour").value = several("terminologies") ? "terminology" : several("types") ? "type" : "branch";
rank();
drawDocuments();
if (index.length) open(Math.max(0, Math.min(islands.length, Number(location.hash.slice(1)) || 1) - 1));
else $("text").append(el("p", { textContent: "This page holds no documents." }));
