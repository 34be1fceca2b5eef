// The text of a document with its mentions: offsets, words, and marks drawn in lanes under the words.
//
// Offsets of the server count code points, those of the page UTF-16 units. Marks are pieces of the text itself, cut at
// every border of a mention, so that readers find them and a selection is the browser's own.

const LANES = 4;  // lines under the words; a mention deeper than that is in the list alone
const LONGEST = 4000;  // units of a passage that is drawn at once

/** Code points and UTF-16 units of a text. */
export class Offsets {
  constructor(text) {
    this.text = text;
    this.plain = !/[\ud800-\udfff]/.test(text);
    if (this.plain) return;
    const units = [0];
    for (const char of text) units.push(units.at(-1) + char.length);
    this.units = Uint32Array.from(units);
  }
  /** Return the number of code points. */
  get length() { return this.plain ? this.text.length : this.units.length - 1; }
  /** Return where a code point begins, in units. */
  unit(point) { return this.plain ? point : this.units[point]; }
  /** Return the code point that a unit is in. */
  point(unit) {
    if (this.plain) return unit;
    let low = 0, high = this.units.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.units[middle] <= unit) low = middle; else high = middle - 1;
    }
    return low;
  }
  /** Return what stands between two code points. */
  slice(start, end) { return this.text.slice(this.unit(start), this.unit(end)); }
}

const WORD = /[\p{L}\p{N}\p{M}]+|[^\s\p{L}\p{N}\p{M}]/gu;

/** Return the words of a text as `[start, end]` in code points; a mark of punctuation is a word of its own. */
export function wordsOf(offsets) {
  const found = [];
  for (const one of offsets.text.matchAll(WORD)) found.push([offsets.point(one.index), offsets.point(one.index + one[0].length)]);
  return found;
}

/** Return the number of the word that begins last at or before a code point. */
export function wordAt(words, point) {
  let low = 0, high = words.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (words[middle][0] <= point) low = middle; else high = middle - 1;
  }
  return low;
}

const CLOSING = /^[.,;:!?)\]}»”’"']$/u;
// what opens, and what closes it
const PARTNERS = new Map(['()', '[]', '{}', '«»', '“”', '„”', '‘’', '‚’', '""', "''"].map((pair) => [...pair]));

/**
 * Return a stretch widened to whole words, without blanks and closing punctuation at its ends; null if nothing is left.
 * What opens it goes with what closed it.
 */
export function snapped(words, offsets, start, end) {
  const inside = words.filter(([from, to]) => to > start && from < end);
  const said = inside.map((word) => offsets.slice(...word)), dropped = [];
  while (said.length > 1 && CLOSING.test(said.at(-1))) dropped.push(said.pop());
  let first = 0;
  while (first + 1 < said.length && dropped.includes(PARTNERS.get(said[first])) && !closes(said.slice(first))) {
    dropped.splice(dropped.indexOf(PARTNERS.get(said[first])), 1);
    first += 1;
  }
  return said.length ? [inside[first][0], inside[said.length - 1][1]] : null;
}

/** Return whether what opens with the first of these words is closed by a later one. */
function closes([opening, ...others]) {
  let depth = 1;
  for (const one of others) {
    if (one === PARTNERS.get(opening)) depth -= 1;
    else if (one === opening) depth += 1;
    if (!depth) return true;
  }
  return false;
}

/** Return a stretch without blanks at its ends; null if nothing is left. */
export function trimmed(offsets, start, end) {
  while (start < end && /\s/u.test(offsets.slice(start, start + 1))) start += 1;
  while (end > start && /\s/u.test(offsets.slice(end - 1, end))) end -= 1;
  return start < end ? [start, end] : null;
}

/** Return where a line is cut that is too long to be drawn at once: behind a blank, or between two characters. */
function cutOf(text, start, end) {
  const limit = start + LONGEST;
  if (limit >= end) return end;
  for (let at = limit; at > start; at -= 1) if (/\s/.test(text[at - 1])) return at;
  return /[\ud800-\udbff]/.test(text[limit - 1]) ? limit - 1 : limit;
}

/** Return the passages of a text: `[start, end]` in units, cut behind line breaks; long lines are cut within, too. */
export function passagesOf(text) {
  const found = [];
  let start = 0;
  for (const line of text.matchAll(/[^\n]*\n+|[^\n]+$/g)) {
    const end = line.index + line[0].length;
    for (let from = line.index, to = from; from < end; from = to) {
      to = cutOf(text, from, end);
      found.push([from, to]);
    }
    start = end;
  }
  if (start < text.length || !found.length) found.push([start, text.length]);
  return found;
}

/** Return the lane of each mention of a passage by its id: the inner ones nearest to the words. `stretches` = `{id, start, end}`. */
export function lanesOf(stretches) {
  const lanes = new Map();
  const taken = [];  // of each lane the stretches that are there
  const order = [...stretches].sort((a, b) => (a.end - a.start) - (b.end - b.start) || a.start - b.start || (a.id < b.id ? -1 : 1));
  for (const one of order) {
    const free = (lane) => !(taken[lane] || []).some((other) => other.start < one.end && one.start < other.end);
    let lane = 0;
    while (!free(lane)) lane += 1;
    (taken[lane] ||= []).push(one);
    lanes.set(one.id, lane);
  }
  return lanes;
}

/** Return the pieces of a passage `[start, end]`: `{start, end, ids}`, cut at all borders of parts `{id, start, end}`. */
export function piecesOf(start, end, parts) {
  const cuts = new Set([start, end]);
  for (const part of parts) for (const cut of [part.start, part.end]) if (cut > start && cut < end) cuts.add(cut);
  const borders = [...cuts].sort((a, b) => a - b);
  const opening = [...parts].sort((a, b) => a.start - b.start);
  const found = [];
  let open = [], next = 0;
  for (let at = 0; at + 1 < borders.length; at += 1) {
    const from = borders[at];
    while (next < opening.length && opening[next].start <= from) open.push(opening[next++]);
    open = open.filter((part) => part.end > from);
    found.push({start: from, end: borders[at + 1], ids: open.map((part) => part.id)});
  }
  return found;
}

/** Return what stands behind a mention: its layer and how probable it is, or what was decided. */
export function labelOf(mention, {showP = true} = {}) {
  const letter = {gold: 'G', user: 'U', pred: 'P'}[mention.layer];
  const marks = [
    mention.nil || (mention.concepts && !mention.concepts.length) ? '∅' : '',
    (mention.concepts || []).length > 1 ? '+' : '',
    mention.conflict ? '!' : mention.unsure ? '?' : mention.decided && mention.concepts !== null ? '✓' : '',
  ].join('');
  if (mention.layer !== 'pred') return letter + marks;
  if (mention.p == null || !showP) return letter + marks;
  return mention.calibration ? `${letter}.${String(Math.min(99, Math.floor(mention.p * 100 + 1e-4))).padStart(2, '0')}${marks}` : `${letter}~${marks}`;
}

/** Draws a text and its mentions into an element, and knows what stands where. */
export class TextView {
  #starts = new WeakMap();  // of text nodes, in units
  #drawn = [];  // of each passage what it was drawn from
  constructor(root, offsets) {
    Object.assign(this, {root, offsets, options: {}, focused: '', passages: passagesOf(offsets.text)});
    root.replaceChildren(...this.passages.map((_, number) => {
      const box = document.createElement('div');
      box.className = this.#look(number);
      box.dataset.number = number;
      return box;
    }));
  }

  /** Return the class of a passage; one of a line that is drawn in several is no paragraph by itself. */
  #look(number) {
    const {text} = this.offsets, [start, end] = this.passages[number];
    const within = (place) => place > 0 && place < text.length && text[place - 1] !== '\n';
    return `passage${within(start) || within(end) ? ' continued' : ''}`;
  }

  /** Draw mentions (`Desk.mentions`); passages that look the same stay untouched. */
  draw(mentions, options = this.options) {
    this.options = options;
    const byPassage = this.passages.map(() => []);
    for (const mention of mentions) {
      const parts = mention.parts.map(([start, end]) => [this.offsets.unit(start), this.offsets.unit(end)]);
      const first = this.#passageOf(parts[0][0]), last = this.#passageOf(parts.at(-1)[1] - 1);
      for (let number = first; number <= last; number += 1) byPassage[number].push({mention, parts});
    }
    byPassage.forEach((found, number) => {
      const key = JSON.stringify([options, found.map(({mention, parts}) => [mention.id, mention.layer, labelOf(mention, options), parts])]);
      if (this.#drawn[number] === key) return;
      this.#drawn[number] = key;
      this.#drawPassage(number, found);
    });
    if (this.focused) this.focus(this.focused, {scroll: false});
  }

  #passageOf(unit) {
    let low = 0, high = this.passages.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.passages[middle][0] <= unit) low = middle; else high = middle - 1;
    }
    return low;
  }

  #drawPassage(number, found) {
    const [start, end] = this.passages[number];
    const lanes = lanesOf(found.map(({mention, parts}) => ({id: mention.id, start: parts[0][0], end: parts.at(-1)[1]})));
    const byId = new Map(found.map((one) => [one.mention.id, one]));
    const parts = found.flatMap(({mention, parts: own}) => own.map(([from, to]) => ({id: mention.id, start: from, end: to})));
    const gaps = found.flatMap(({mention, parts: own}) => own.slice(1).map(([from], at) => ({id: mention.id, start: own[at][1], end: from, gap: true})));
    const inside = (one) => one.end > start && one.start < end;
    const gapOf = piecesOf(start, end, gaps.filter(inside));
    const box = document.createDocumentFragment();
    const depth = Math.max(0, ...[...lanes.values()].map((lane) => lane + 1));
    for (const piece of piecesOf(start, end, [...parts, ...gaps].filter(inside))) {
      const bridged = new Set((gapOf.find((one) => one.start <= piece.start && piece.end <= one.end) || {ids: []}).ids);
      box.append(this.#piece(piece, byId, lanes, bridged));
    }
    const element = this.root.children[number];
    element.className = `${this.#look(number)}${depth > 2 ? ` deep-${Math.min(depth, LANES)}` : ''}`;
    element.replaceChildren(box);
  }

  #piece(piece, byId, lanes, bridged) {
    const text = document.createTextNode(this.offsets.text.slice(piece.start, piece.end));
    this.#starts.set(text, piece.start);
    const ids = [...new Set(piece.ids)].sort((a, b) => lanes.get(a) - lanes.get(b));
    let inner = text;
    const own = ids.filter((id) => !bridged.has(id));
    for (const id of ids) {
      const {mention, parts} = byId.get(id);
      const line = document.createElement('span');
      line.className = `lane ${bridged.has(id) ? 'gap ' : ''}${styleOf(mention)} lane-${Math.min(lanes.get(id), LANES - 1)}`;
      line.dataset.id = id;
      const part = parts.findIndex(([, to]) => to === piece.end);
      if (!bridged.has(id) && part >= 0) {
        line.dataset.label = parts.length > 1 ? `${labelOf(mention, this.options)}${part + 1}` : labelOf(mention, this.options);
      }
      line.append(inner);
      inner = line;
    }
    if (!own.length) return inner;
    const mark = document.createElement('mark');
    mark.className = styleOf(byId.get(own[0]).mention);
    mark.dataset.ids = own.join(' ');
    mark.append(inner);
    return mark;
  }

  /** Show which mention has the focus. */
  focus(id, {scroll = true} = {}) {
    this.focused = id;
    for (const old of this.root.querySelectorAll('.focused')) old.classList.remove('focused');
    const found = id ? [...this.root.querySelectorAll(`mark[data-ids~="${CSS.escape(id)}"]`)] : [];
    for (const one of found) one.classList.add('focused');
    this.root.classList.toggle('has-focused', found.length > 0);
    if (scroll) found[0]?.scrollIntoView({block: 'nearest', behavior: 'instant'});
    return found[0];
  }

  /** Return the code point of a place in the page; null outside the text. */
  pointOf(node, offset) {
    if (node.nodeType !== Node.TEXT_NODE) {
      const walker = document.createTreeWalker(this.root, NodeFilter.SHOW_TEXT);
      const child = node.childNodes[offset] || null;
      for (let text = walker.nextNode(); text; text = walker.nextNode()) {
        const behind = child ? child === text || child.contains(text) || child.compareDocumentPosition(text) & 4 : node.compareDocumentPosition(text) & 4 && !node.contains(text);
        if (behind) return this.offsets.point(this.#starts.get(text));
      }
      return this.root.contains(node) ? this.offsets.length : null;
    }
    const start = this.#starts.get(node);
    return start === undefined ? null : this.offsets.point(start + offset);
  }

  /** Return what is selected, `[start, end]` in code points; null if nothing is. */
  selection() {
    const found = getSelection();
    if (!found.rangeCount || found.isCollapsed) return null;
    const range = found.getRangeAt(0);
    if (!this.root.contains(range.commonAncestorContainer)) return null;
    const start = this.pointOf(range.startContainer, range.startOffset);
    const end = this.pointOf(range.endContainer, range.endOffset);
    return start === null || end === null || start >= end ? null : [start, end];
  }

  /** Return a range of the page for code points. */
  rangeOf(start, end) {
    const range = document.createRange();
    range.setStart(...this.#place(this.offsets.unit(start), false));
    range.setEnd(...this.#place(this.offsets.unit(end), true));
    return range;
  }

  #place(unit, closes) {
    const number = this.#passageOf(closes ? Math.max(0, unit - 1) : unit);
    const walker = document.createTreeWalker(this.root.children[number], NodeFilter.SHOW_TEXT);
    let last = null;
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      const start = this.#starts.get(text);
      last = text;
      if (closes ? unit <= start + text.length : unit < start + text.length) return [text, Math.max(0, unit - start)];
    }
    return last ? [last, last.length] : [this.root, 0];
  }
}

/** Return the class of a mention: its layer, or what is special of it. */
export function styleOf(mention) {
  return mention.conflict ? 'conflict' : mention.unsure ? 'unsure' : mention.layer;
}
