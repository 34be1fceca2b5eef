// The text around a conflict, with what each reader marks: lines of their own look and number for every reader.

import {html, nothing} from './base.js';
import {lanesOf, piecesOf} from './text.js';

const ROOM = 240;  // characters that are shown on both sides
const LANES = 4;
const LOOKS = 4;  // readers whose lines look different

/** Return the class of a reader's marks. */
export const lookOf = (reader) => `reader-${reader % LOOKS + 1}`;

/** Return `[start, end]` of what is shown around a stretch, cut between words. */
export function around(offsets, start, end) {
  const blank = (point) => /\s/u.test(offsets.slice(point, point + 1));
  let from = Math.max(0, start - ROOM), to = Math.min(offsets.length, end + ROOM);
  while (from > 0 && from < start && !blank(from - 1)) from += 1;
  while (to < offsets.length && to > end && !blank(to)) to -= 1;
  return [from, to];
}

/**
 * Return the lines to draw. Of the conflict with the focus and of those that are open: what each reader marks, those who
 * mark the same in one line; of settled ones the result; of the rest what all say. `resultOf` is that of a conflict or null.
 */
export function linesOf(conflicts, alike, focus, resultOf) {
  const found = conflicts.flatMap((one) => {
    const result = one.id === focus ? null : resultOf(one);
    if (result) return result.marks.map((mark) => ({id: `${one.id} ✓`, parts: mark.parts, look: 'user', label: '✓', focused: false}));
    return readersOf(one).map(({mark, readers}) => {
      const label = readers.map((reader) => reader + 1).join('+');
      const look = readers.length > 1 ? 'merged' : lookOf(readers[0]);
      return {id: `${one.id} ${label}`, parts: mark.parts, look, label, focused: one.id === focus};
    });
  });
  return [...found, ...alike.map(({id, marks: [mark]}) => ({id, parts: mark.parts, look: 'merged', label: '=', focused: false}))];
}

/** Return the different marks of a conflict, `{mark, readers}`; the same place with the same concepts is one. */
function readersOf({marks}) {
  const found = new Map();
  marks.forEach((mark, reader) => {
    if (!mark) return;
    const place = JSON.stringify([mark.parts, mark.concepts]);
    if (found.has(place)) found.get(place).readers.push(reader); else found.set(place, {mark, readers: [reader]});
  });
  return [...found.values()];
}

/** Draw a stretch of the text with such lines. */
export function drawAround(offsets, [from, to], lines) {
  const inside = lines.filter((one) => one.parts[0][0] < to && one.parts.at(-1)[1] > from);
  const lanes = lanesOf(inside.map((one) => ({id: one.id, start: one.parts[0][0], end: one.parts.at(-1)[1]})));
  const byId = new Map(inside.map((one) => [one.id, {...one, lane: Math.min(lanes.get(one.id), LANES - 1)}]));
  const parts = inside.flatMap((one) => one.parts.map(([start, end]) => ({id: one.id, start, end})));
  const gaps = inside.flatMap((one) => one.parts.slice(1).map(([end], at) => ({id: one.id, start: one.parts[at][1], end})));
  const depth = Math.min(LANES, Math.max(0, ...lanes.values()) + 1);
  const pieces = piecesOf(from, to, [...parts, ...gaps]).map((piece) => drawPiece(piece, offsets, byId));
  const ends = [from ? '… ' : '', to < offsets.length ? ' …' : ''];
  return html`<div class=${`passage${depth > 2 ? ` deep-${depth}` : ''}`}>${ends[0]}${pieces}${ends[1]}</div>`;
}

function drawPiece(piece, offsets, byId) {
  const text = offsets.slice(piece.start, piece.end);
  const there = [...new Set(piece.ids)].map((id) => byId.get(id)).sort((a, b) => a.lane - b.lane);
  if (!there.length) return text;
  const isGap = (one) => !one.parts.some(([start, end]) => start <= piece.start && piece.end <= end);
  const inner = there.reduce((made, one) => {
    const label = one.parts.some(([, end]) => end === piece.end) ? one.label : nothing;
    return html`<span class=${`lane ${one.look} lane-${one.lane}${isGap(one) ? ' gap' : ''}`} data-label=${label}>${made}</span>`;
  }, text);
  const own = there.filter((one) => !isGap(one));
  return own.length ? html`<mark class=${own.some((one) => one.focused) ? 'conflict' : ''}>${inner}</mark>` : inner;
}
