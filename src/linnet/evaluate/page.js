const data = JSON.parse(document.querySelector("#data").textContent);
const { systems, protocol } = data;
const $ = (selector) => document.querySelector(selector);
const SVG = "http://www.w3.org/2000/svg";
const COLOURS = 6, BATCH = 200;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
function drawn(name, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return made;
}
const colour = (index) => `s${index % COLOURS}`;
const short = (value) => (value === null || value === undefined ? "\u2013" : value.toFixed(3));
const whole = (value) => Math.round(value).toLocaleString("en");
const interval = ([, low, high]) => (low === null ? "" : ` [${short(low)}, ${short(high)}]`);

// --- tables ---------------------------------------------------------------------------------------------------------

function cell(name, text, numeric, scope) {
  const made = element(name, { ...(numeric ? { class: "number" } : {}), ...(scope ? { scope } : {}), dir: "auto" });
  if (Array.isArray(text)) {  // and what is less important
    made.append(text[0], " ", element("span", { class: "small" }, text[1]));
    return made;
  }
  const [, value, range] = /^(\S+) (\[[^\]]*\])$/.exec(text) ?? [null, text, ""];
  made.append(value);
  if (range) made.append(" ", element("span", { class: "interval" }, range));
  return made;
}
function table(title, columns, rows, numeric = true) {
  const made = element("table");
  if (title) made.append(element("caption", {}, title));
  made.append(element("thead", {}, element("tr", {}, ...columns.map((text, i) => cell("th", text, numeric && i > 0, "col")))));
  const body = rows.map((row) => element("tr", {}, ...row.map((text, i) =>
    cell(i ? "td" : "th", text, numeric && i > 0, i ? null : "row"))));
  made.append(element("tbody", {}, ...body));
  return element("div", { class: "scroll" }, made);
}
function drawTables() {
  for (const { title, columns, rows } of data.tables) {
    $("#tables").append(table(title, columns, rows, !["differences", "calibration", "cost"].includes(title)));
  }
  if (systems.length > 1) {
    systems.forEach(({ name }, index) => {
      const swatch = drawn("svg", { viewBox: "0 0 10 10", class: colour(index), "aria-hidden": "true" });
      swatch.append(drawn("rect", { width: 10, height: 10, rx: 2, fill: "currentColor" }));
      $("#legend").append(element("li", { dir: "auto" }, swatch, name));
    });
  }
  const names = [...new Set(systems.flatMap((system) => Object.keys(system.measures)))];
  const rows = names.map((name) => [name, ...systems.map(({ measures }) =>
    measures[name] ? short(measures[name][0]) + interval(measures[name]) : "\u2013")]);
  $("#measures-count").textContent = `${names.length} measures`;
  $("#all").append(table("", ["", ...systems.map(({ name }) => name)], rows));
  const keys = [...new Set(systems.flatMap((system) => Object.keys(system.about)))];
  $("#about").append(table("", ["", ...systems.map(({ name }) => name)],
    keys.map((key) => [key.replace("_", " "), ...systems.map(({ about }) => about[key] ?? "\u2013")]), false));
}

// --- curves ---------------------------------------------------------------------------------------------------------

const BOX = { left: 38, top: 10, width: 300, height: 200 };
function chart(title, { x, y, xTicks, yLow = 0 }) {
  const svg = drawn("svg", { viewBox: "0 0 350 252", class: "chart", role: "img", "aria-label": title });
  const at = (u, v) => [BOX.left + u * BOX.width, BOX.top + (1 - (v - yLow) / (1 - yLow)) * BOX.height];
  const step = yLow < 0.5 ? 0.2 : yLow < 0.8 ? 0.1 : 0.05;  // whatever the range, lines stand at round numbers
  for (let line = Math.ceil(yLow / step - 1e-9); line * step <= 1 + 1e-9; line++) {
    const value = line * step, [left, top] = at(0, value);
    svg.append(drawn("line", { class: "grid", x1: left, x2: left + BOX.width, y1: top, y2: top }));
    svg.append(drawn("text", { x: left - 5, y: top + 4, "text-anchor": "end" }, value.toFixed(2)));
  }
  for (const [place, text] of xTicks) {
    const [left, top] = at(place, yLow);
    svg.append(drawn("text", { x: left, y: top + 15, "text-anchor": "middle" }, text));
  }
  svg.append(drawn("text", { x: BOX.left + BOX.width / 2, y: 248, "text-anchor": "middle" }, x));
  $("#charts").append(element("figure", {}, element("figcaption", {}, title), svg, element("span", { class: "small" }, y)));
  return { svg, at };
}
function line({ svg, at }, points, index, dots = true) {
  const places = points.map(([u, v]) => at(u, v).map((n) => n.toFixed(1)));
  svg.append(drawn("polyline", { class: `line ${colour(index)}`, points: places.map((p) => p.join(",")).join(" ") }));
  if (!dots) return;
  points.forEach(([, , said], place) => {
    const dot = drawn("circle", { class: `dot ${colour(index)}`, cx: places[place][0], cy: places[place][1], r: 3.5 });
    if (said) dot.append(drawn("title", {}, said));
    svg.append(dot);
  });
}
function drawCurves() {
  const unit = [0, 0.2, 0.4, 0.6, 0.8, 1].map((value) => [value, value.toFixed(1)]);
  const recalls = systems.map(({ measures }) => Object.entries(measures)
    .map(([name, [value]]) => [Number(name.startsWith(`${protocol}.recall@`) ? name.split("@")[1] : NaN), value])
    .filter(([k]) => k > 0).sort((a, b) => a[0] - b[0]));
  if (recalls.some((points) => points.some(([, value]) => value > 0))) {
    const most = Math.log(Math.max(...recalls.flat().map(([k]) => k), 2));
    const lowest = Math.min(...recalls.flat().map(([, value]) => value));
    const drawing = chart("Recall@k", {
      x: "k, the first candidates (logarithmic)", y: `share of mentions whose concept is among the first k, ${protocol}`,
      xTicks: recalls.find((points) => points.length).map(([k]) => [Math.log(k) / most, k]), yLow: Math.max(0, Math.floor(lowest * 10 - 0.5) / 10),
    });
    recalls.forEach((points, index) => line(drawing, points.map(([k, value]) =>
      [Math.log(k) / most, value, `${systems[index].name}, first ${k}: ${short(value)}`]), index));
  }
  if (!systems.some(({ reliability }) => reliability)) return;
  const raw = systems.filter(({ reliability }) => reliability && !reliability.calibrated).map(({ name }) => name);
  const diagram = chart(raw.length ? `Reliability (uncalibrated: ${raw.join(", ")})` : "Reliability", { x: "mean probability of a bin", y: "share of right answers; dashed: what the probability promises", xTicks: unit });
  const [[x1, y1], [x2, y2]] = [diagram.at(0, 0), diagram.at(1, 1)];
  diagram.svg.append(drawn("line", { class: "ideal", x1, y1, x2, y2 }));
  const risk = chart("Accuracy by coverage", { x: "share of answers given, the surest first", y: "share of the given answers that are right", xTicks: unit });
  systems.forEach(({ name, reliability }, index) => {
    if (!reliability) return;
    line(diagram, reliability.bins.map(({ confidence, accuracy, count }) =>
      [confidence, accuracy, `${name}: ${short(confidence)} promised, ${short(accuracy)} right of ${whole(count)}`]), index);
    line(risk, reliability.risk_coverage.map(([coverage, wrong]) => [coverage, 1 - wrong]), index, reliability.risk_coverage.length < 30);
  });
}

// --- slices ---------------------------------------------------------------------------------------------------------

function drawSlices() {
  const names = [...new Set(systems.flatMap((system) => Object.keys(system.slices)))];
  const level = data.level === null ? "" : `, ${Math.round(data.level * 100)} % intervals`;
  $("#slices-note").textContent = names.length ? `accuracy@1, ${protocol}${level}` : "none";
  const groups = grouped(names);
  const alone = [...groups.values()].filter((members) => members.length === 1).flat();
  alone.forEach((name) => drawSlice(name, name));
  for (const [group, members] of groups) {
    if (members.length === 1) continue;
    $("#bars").append(element("h3", { dir: "auto" }, group));
    members.forEach((name) => drawSlice(name, name.slice(group.length + 1)));
  }
}
const groupOf = (name) => name.split(".")[0];
function grouped(names) {
  const groups = new Map();
  for (const name of names) groups.set(groupOf(name), [...(groups.get(groupOf(name)) ?? []), name]);
  return groups;
}
function drawSlice(name, label) {
  const size = systems.map(({ slices }) => slices[name]?.[3]).find((count) => count !== undefined);
  const rows = systems.flatMap(({ slices }, index) => {
    const figure = slices[name];
    return [figure ? bar(figure, index) : element("div"),
      element("div", { class: "value" }, figure ? short(figure[0]) : "\u2013", element("span", { class: "interval" }, figure ? interval(figure) : ""))];
  });
  $("#bars").append(element("div", { class: "slice" },
    element("div", { class: "name", dir: "auto" }, label, " ", element("span", { class: "small" }, whole(size))), element("div", { class: "pairs" }, ...rows)));
}
function bar([value, low, high], index) {
  const svg = drawn("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", class: colour(index), role: "img", "aria-label": short(value) });
  svg.append(drawn("rect", { class: "track", width: 100, height: 12 }));
  svg.append(drawn("rect", { class: "bar", width: value * 100, height: 12 }));
  if (low !== null) svg.append(drawn("rect", { class: "range", x: low * 100, y: 5, width: Math.max((high - low) * 100, 0.4), height: 2 }));
  svg.append(drawn("title", {}, short(value) + interval([value, low, high])));
  return svg;
}

// --- errors ---------------------------------------------------------------------------------------------------------

const [search, system, kind, slice, list, detail] = ["search", "system", "kind", "slice", "list", "detail"].map((id) => $(`#${id}`));
let found = [], current = -1;
const words = new Map();  // what the search looks through, made when first needed

function searched(error) {
  if (!words.has(error)) {
    const texts = [error.surface, error.document, error.before, error.after, ...error.gold, ...error.predicted, ...error.gold_names, ...error.predicted_names];
    words.set(error, texts.join("\n").toLowerCase());
  }
  return words.get(error);
}
function options(select, entries, all) {
  const kept = select.value;
  const made = entries.map(([value, text]) => element("option", { value }, text));
  select.replaceChildren(...(all ? [element("option", { value: "" }, all)] : []), ...made);
  if (entries.some(([value]) => value === kept)) select.value = kept;
}
function chosen() { return systems[Number(system.value || 0)]; }
function fillFilters() {
  const { kinds, wrong } = chosen();
  const total = Object.values(kinds).reduce((sum, count) => sum + count, 0);
  options(kind, Object.entries(kinds).map(([name, count]) => [name, `${name} (${whole(count)})`]), `all (${whole(total)})`);
  const counts = new Map();
  for (const { slices } of wrong) for (const name of slices) counts.set(name, (counts.get(name) ?? 0) + 1);
  options(slice, [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => [name, `${name} (${whole(count)})`]), "all");
}
function filter() {
  const text = search.value.trim().toLowerCase();
  found = chosen().wrong.filter((error) => (!kind.value || error.kind === kind.value)
    && (!slice.value || error.slices.includes(slice.value)) && (!text || searched(error).includes(text)));
  const total = Object.values(chosen().kinds).reduce((sum, count) => sum + count, 0);
  const kept = chosen().wrong.length;
  $("#errors-count").textContent = `${whole(found.length)} of ${whole(kept)}` + (kept < total ? ` kept on this page; ${whole(total)} in all` : "");
  list.replaceChildren();
  list.scrollTop = 0;
  more();
  if (!found.length) list.append(element("li", { class: "empty" }, kept ? "No error fits these filters." : "No errors."));
  close();
}
function more() {
  const start = list.children.length;
  found.slice(start, start + BATCH).forEach((error, place) => {
    list.append(element("li", { "data-place": start + place }, element("span", { class: "tag" }, error.kind),
      element("span", { class: "what" }, element("bdi", {}, error.surface), " \u2192 ", element("bdi", {}, said(error.predicted, error.predicted_names, nothing(error))))));
  });
}
const said = (ids, names, nothing = "NIL") => (ids.length ? ids.map((id, place) => names[place] || id).join(" + ") : nothing);
const nothing = ({ kind }) => (kind === "missed" ? "not found" : "NIL");
function open(place) {
  while (place >= list.children.length && list.children.length < found.length) more();
  if (place < 0 || place >= found.length) return;
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  current = place;
  const row = list.children[place];
  row.setAttribute("aria-current", "true");
  row.scrollIntoView({ block: "nearest" });
  show(found[place]);
}
function concepts(ids, names, nothing) {
  if (!ids.length) return [nothing];
  return ids.flatMap((id, place) => [...(place ? [" "] : []), element("span", {}, element("bdi", {}, names[place] ? `${names[place]} ` : ""), element("bdi", { class: "small" }, id))]);
}
const unranked = new Set(["missed", "boundary", "spurious", "other"]);  // kinds without candidates of the mention
function foundAt({ found: [start, end], start: left, before, surface, after }) {
  const from = [...before].length - left, context = [...before, ...surface, ...after];  // offsets count code points
  const text = start + from >= 0 && end + from <= context.length ? context.slice(start + from, end + from).join("") : "";
  return [element("bdi", {}, text), ` ${start}\u2013${end}`];
}
function show(error) {
  const rows = [
    ["document", [element("bdi", {}, error.document), ` ${error.start}\u2013${error.end}`]],
    ["gold", concepts(error.gold, error.gold_names, error.kind === "spurious" ? "no mention here" : "NIL"), "gold"],
    ["predicted", concepts(error.predicted, error.predicted_names, nothing(error)), "predicted"],
    ...(error.found && (error.found[0] !== error.start || error.found[1] !== error.end) ? [["found at", foundAt(error)]] : []),
    ...(unranked.has(error.kind) ? [] : [["rank", [error.rank ? `gold is candidate ${error.rank}` : "gold is not among the candidates"]]]),
    ["probability", [error.probability === null ? "\u2013" : short(error.probability)]],
    ["slices", [error.slices.join(", ") || "\u2013"]],
  ];
  detail.replaceChildren(
    element("h3", {}, [error.kind, ...error.tags].join(", ")),
    element("p", { class: "context", dir: "auto" }, "\u2026", error.before, element("mark", {}, error.surface), error.after, "\u2026"),
    element("dl", {}, ...rows.flatMap(([name, value, type]) => [element("dt", {}, name), element("dd", type ? { class: type } : {}, ...value)])),
  );
}
function close() {
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  current = -1;
  detail.replaceChildren(element("p", { class: "small" }, found.length ? "Choose an error to see it in its text." : ""));
}
function drawErrors() {
  options(system, systems.map(({ name }, index) => [String(index), name]), null);
  $("#system-label").hidden = systems.length < 2;
  fillFilters();
  filter();
  search.addEventListener("input", filter);
  for (const select of [kind, slice]) select.addEventListener("change", filter);
  system.addEventListener("change", () => { fillFilters(); filter(); drawConfusions(); });
  $("#filters").addEventListener("submit", (event) => event.preventDefault());
  list.addEventListener("click", (event) => { const row = event.target.closest("[data-place]"); if (row) open(Number(row.dataset.place)); });
  list.addEventListener("scroll", () => { if (list.scrollTop + list.clientHeight > list.scrollHeight - 200) more(); });
}
function drawConfusions() {
  const rows = chosen().confusions.map((one) => [whole(one.count),
    [said(one.gold, one.gold_names), one.gold.join(" ")], [said(one.predicted, one.predicted_names), one.predicted.join(" ")]]);
  $("#confused").replaceChildren(rows.length ? table("", ["times", "gold", "answered"], rows, false) : "None.");
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, select, textarea");
  if (event.key === "Escape") {
    if (current >= 0) close();
    else if (search.value) { search.value = ""; filter(); }
    if (typing) event.target.blur();
  } else if (event.key === "Enter" && event.target === search) {
    open(0);
    search.blur();
  } else if (typing) {
    return;
  } else if (event.key === "/") {
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "j" || event.key === "k") {
    open(Math.max(0, current + (event.key === "j" ? 1 : -1)));
  } else if (event.key === "Enter" && event.target === list) {
    if (current < 0) open(0);
    detail.focus();
  }
});

drawTables();
drawCurves();
drawSlices();
drawErrors();
drawConfusions();
$("#app").hidden = false;
