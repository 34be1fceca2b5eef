// Charts as templates: lines with bands, reliability, a matrix, bars. Each has its numbers as a table behind a toggle, a
// title and a description for readers, and says nothing by colour alone. Functions of their data; nothing is kept.

import {html, LitElement, nothing, svg} from './lit.js';

const LETTER = 8.6;  // pixels that a bold character takes, about
const TEXT = 13;  // pixels a line of text is high
const DASHES = [nothing, '9 4', '2 4', '10 3 2 3'];
const number = (value) => Number(value).toLocaleString('en', {maximumFractionDigits: 3});
const short = (text, room) => (text.length * LETTER <= room ? text : `${text.slice(0, Math.max(1, Math.floor(room / LETTER) - 1))}…`);
const known = (value) => value !== null && value !== undefined;
const kind = (at) => `series-${at % DASHES.length + 1}`;

/** Return round numbers from one end to the other, about as many as wanted; with `whole` only integers. */
export function ticks(from, to, wanted = 5, whole = false) {
  const raw = (to - from) / Math.max(1, wanted) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = Math.max(whole ? 1 : 0, [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw * 0.999));
  const found = [];
  for (let at = Math.ceil(from / step - 1e-9); at <= to / step + 1e-9; at += 1) found.push(Number((at * step).toPrecision(12)));
  return found;
}

/** Return the ends of an axis that holds values: round ones with a little room, within `least` and `most`. */
export function ends(values, {least = -Infinity, most = Infinity, whole = false} = {}) {
  const low = Math.min(...values), high = Math.max(...values);
  const room = (high - low) / 12 || Math.abs(high) / 10 || 1;
  const [one, other] = ticks(low - room, high + room, 8, whole);
  const step = other - one || Math.max(room, whole ? 1 : 0);
  const from = Math.max(least, Math.floor((low - room) / step) * step), to = Math.min(most, Math.ceil((high + room) / step) * step);
  return [from, to].map((end) => Number(end.toPrecision(12)));
}

/** Return a function from values to pixels. */
export const scale = ([from, to], [first, last]) => (value) => first + (to === from ? 0.5 : (value - from) / (to - from)) * (last - first);

// --- what all charts have ---------------------------------------------------------------------------------------------

function figure({title, about, width, height, drawing, legend = nothing, head, rows, room = width}) {
  const picture = html`<svg role="img" viewBox=${`0 0 ${width} ${height}`} width=${width} height=${height}>
    <title>${title}</title><desc>${about}</desc>${drawing}</svg>`;
  return html`<figure class="chart">
    ${width > room ? html`<div class="scroll" tabindex="0" role="region" aria-label=${title}>${picture}</div>` : picture}
    ${legend}
    <details><summary>Numbers</summary>
      <div class="scroll" tabindex="0" role="region" aria-label=${`Numbers: ${title}`}><table>
        <thead><tr>${head.map((one, at) => html`<th scope="col" class=${at ? 'number' : ''}>${one}</th>`)}</tr></thead>
        <tbody>${rows.map((row) => html`<tr>${row.map((cell, at) => (at ? html`<td class="number">${cell}</td>`
          : html`<th scope="row">${cell}</th>`))}</tr>`)}</tbody>
      </table></div>
    </details>
  </figure>`;
}

/** Return a legend of names, each with the sign that it has in the drawing. */
function legendOf(names, sign) {
  if (names.length < 2) return nothing;
  return html`<figcaption class="legend">${names.map((name, at) => html`<span>
    <svg width="34" height="16" viewBox="0 0 34 16" aria-hidden="true">${sign(at)}</svg> ${name}</span>`)}</figcaption>`;
}

/** Return a mark of a shape of its own for each series. */
function mark(at, x, y) {
  const shapes = [
    svg`<circle cx=${x} cy=${y} r="4"/>`, svg`<rect x=${x - 4} y=${y - 4} width="8" height="8"/>`,
    svg`<path d=${`M${x} ${y - 5}L${x + 5} ${y + 4}H${x - 5}Z`}/>`,
    svg`<path d=${`M${x} ${y - 6}L${x + 6} ${y}L${x} ${y + 6}L${x - 6} ${y}Z`}/>`,
  ];
  return svg`<g class="mark">${shapes[at % shapes.length]}</g>`;
}

/** Return grid, ticks and names of two axes. `at` are functions to pixels, `box` the ends in pixels. */
function axes({x, y, at, box}) {
  const [left, top, right, bottom] = box;
  return svg`
    ${y.ticks.map((value) => svg`<line class="grid" x1=${left} x2=${right} y1=${at.y(value)} y2=${at.y(value)}/>
      <text class="tick" x=${left - 6} y=${at.y(value) + 4} text-anchor="end">${y.format(value)}</text>`)}
    ${x.ticks.map((value) => svg`<line class="axis" x1=${at.x(value)} x2=${at.x(value)} y1=${bottom} y2=${bottom + 4}/>
      <text class="tick" x=${at.x(value)} y=${bottom + 18} text-anchor="middle">${x.format(value)}</text>`)}
    <line class="axis" x1=${left} x2=${right} y1=${bottom} y2=${bottom}/>
    <text class="name" x=${left > 20 ? 2 : left} y=${top - 12}>${y.label}</text>
    <text class="name" x=${right} y=${bottom + 36} text-anchor="end">${x.label}</text>`;
}

// --- lines ------------------------------------------------------------------------------------------------------------

/**
 * Return lines with 95 % bands, such as learning curves. `x` and `y` are `{label, format, least, most, whole}`, a series is
 * `{name, points: [{x, y, low, high, note}]}`; ends of intervals and notes may be missing.
 */
export function lineChart({title, about, x, y, series, width = 640, height = 300}) {
  const points = series.flatMap((one) => one.points);
  if (!points.length) return html`<p class="note">Nothing to draw yet.</p>`;
  const [xs, ys] = [{format: number, ...x}, {format: number, ...y}];
  const heights = points.flatMap((one) => [one.y, one.low, one.high]).filter(known);
  const [across, up] = [ends(points.map((one) => one.x), xs), ends(heights, ys)];
  ys.ticks = ticks(...up, height / 55);
  const left = Math.max(...ys.ticks.map((one) => ys.format(one).length)) * LETTER + 14;
  const box = [left, 30, width - Math.max(16, xs.format(across[1]).length * LETTER / 2), height - 46];
  xs.ticks = ticks(...across, (box[2] - left) / 90, xs.whole);
  const at = {x: scale(across, [left, box[2]]), y: scale(up, [box[3], box[1]])};
  const drawing = svg`${axes({x: xs, y: ys, at, box})}${series.map((one, place) => line(one, place, at, box[2]))}`;
  const sign = (place) => svg`<g class=${kind(place)}>
    <path class="line" stroke-dasharray=${DASHES[place % DASHES.length]} d="M1 8H33"/>${mark(place, 17, 8)}</g>`;
  const rows = series.flatMap((one) => one.points.map((point) => [
    point.note || one.name, ...(series.length > 1 ? [one.name] : []), xs.format(point.x), ys.format(point.y), interval(point, ys.format)]));
  const head = ['Name', ...(series.length > 1 ? ['Line'] : []), xs.label, ys.label, '95 % interval'];
  return figure({title, about, width, height, drawing, legend: legendOf(series.map((one) => one.name), sign), head, rows});
}

const interval = (point, format) => (known(point.low) && known(point.high) ? `${format(point.low)} – ${format(point.high)}` : '–');

function line({points, name}, place, at, right) {
  const sorted = [...points].sort((one, other) => one.x - other.x);
  const path = (some, key) => some.map((one) => `${at.x(one.x)} ${at.y(one[key])}`).join('L');
  const sure = sorted.filter((one) => known(one.low) && known(one.high));
  const end = (one) => (at.x(one.x) > right - 40 ? 'end' : 'middle');
  const noted = sorted.filter((one) => one.note);
  const under = (one, before) => before && at.x(one.x) - at.x(before.x) < one.note.length * LETTER
    && Math.abs(at.y(one.y) - at.y(before.y)) < TEXT + 2;
  const whisker = ([x, low, high]) => `M${x} ${low}V${high}m-4 0h8M${x - 4} ${low}h8`;
  return svg`<g class=${kind(place)}>
    ${sure.length > 1 ? svg`<path class="band" d=${`M${path(sure, 'low')}L${path([...sure].reverse(), 'high')}Z`}/>` : nothing}
    ${sure.map((one) => svg`<path class="whisker" d=${whisker([at.x(one.x), at.y(one.low), at.y(one.high)])}/>`)}
    <path class="line" stroke-dasharray=${DASHES[place % DASHES.length]} d=${`M${path(sorted, 'y')}`}/>
    ${sorted.map((one) => svg`<g><title>${`${one.note || name}: ${number(one.x)}, ${number(one.y)}`}</title>
      ${mark(place, at.x(one.x), at.y(one.y))}</g>`)}
    ${noted.map((one, n) => svg`<text class="label" x=${at.x(one.x) + (end(one) === 'end' ? 6 : 0)}
      y=${at.y(one.y) + (under(one, noted[n - 1]) ? 20 : -10)} text-anchor=${end(one)}>${one.note}</text>`)}
  </g>`;
}

// --- reliability ------------------------------------------------------------------------------------------------------

const STRIP = 56;  // pixels for the counts below

/**
 * Return a reliability diagram: how often answers were right that had a probability. `bins` are `{p, share, count}`: mean
 * probability, share of right answers, how many there are; a dashed line is where both are equal.
 */
export function calibrationChart({title, about, bins, width = 420, height = 420}) {
  if (!bins.length) return html`<p class="note">Nothing to draw yet.</p>`;
  const percent = (value) => `${Math.round(value * 100)} %`;
  const found = [...bins].sort((one, other) => one.p - other.p);
  const box = [56, 30, width - 24, height - 46 - STRIP];
  const at = {x: scale([0, 1], [box[0], box[2]]), y: scale([0, 1], [box[3], box[1]])};
  const x = {ticks: ticks(0, 1, width < 380 ? 2 : 5), format: percent, label: 'Probability'};
  const y = {ticks: ticks(0, 1, 5), format: percent, label: 'Right answers'};
  const wide = 22, foot = height - 4;
  const heaps = heap(found.map((one) => ({x: at.x(one.p), count: one.count})), wide + 2);
  const most = Math.max(...heaps.map((one) => one.count));
  const tall = ({count}) => Math.max(1, count / most * (STRIP - 26));
  const lower = (one) => at.y(Math.min(one.p, one.share)), upper = (one) => at.y(Math.max(one.p, one.share));
  const drawing = svg`
    ${axes({x, y, at, box})}
    <path class="ideal" d=${`M${at.x(0)} ${at.y(0)}L${at.x(1)} ${at.y(1)}`}/>
    <g class=${kind(0)}>
      ${found.map((one) => svg`<path class="gap" d=${`M${at.x(one.p)} ${lower(one)}V${upper(one)}`}/>`)}
      <path class="line" d=${`M${found.map((one) => `${at.x(one.p)} ${at.y(one.share)}`).join('L')}`}/>
      ${found.map((one) => svg`<g><title>${`${percent(one.p)}: ${percent(one.share)} of ${number(one.count)} right`}</title>
        ${mark(0, at.x(one.p), at.y(one.share))}</g>`)}
      ${heaps.map((one) => svg`<rect class="solid" x=${one.x - wide / 2} y=${foot - tall(one)} width=${wide} height=${tall(one)}/>
        <text class="tick" x=${one.x} y=${foot - tall(one) - 3} text-anchor="middle">${number(one.count)}</text>`)}
    </g>
    <text class="name" x="2" y=${box[3] + 36}>Answers</text>`;
  const rows = found.map((one) => [percent(one.p), percent(one.share), number(one.count)]);
  return figure({title, about, width, height, drawing, head: ['Probability', 'Right', 'Answers'], rows});
}

/** Add up counts that would stand on each other. */
function heap(some, room) {
  const found = [];
  for (const one of some) {
    const last = found.at(-1);
    if (last && one.x - last.x < room) last.count += one.count;
    else found.push({...one});
  }
  return found;
}

// --- matrix -----------------------------------------------------------------------------------------------------------

/**
 * Return a matrix of counts, such as confusions of concepts: `counts[row][column]`. Where `columns` are not given they
 * are the rows; columns bear numbers, which the names of rows (or a list below) explain.
 */
export function matrixChart({title, about, rows, columns, counts, across = '', width = 640}) {
  const same = !columns;
  const names = columns ?? rows;
  if (!rows.length || !names.length) return html`<p class="note">Nothing to draw yet.</p>`;
  const numbered = (name, at) => (same ? `${at + 1} ${name}` : name);
  const left = Math.min(width * 0.45, Math.max(...rows.map((one, at) => numbered(one, at).length)) * LETTER + 12);
  const size = Math.max(24, Math.min(40, (width - left - 2) / names.length));
  const most = Math.max(1, ...counts.flat());
  const top = across ? 40 : 22;
  const whole = Math.max(width, left + size * names.length + 2);
  const tall = top + size * rows.length + 2;
  const cell = (value, row, column) => {
    const x = left + column * size, y = top + row * size;
    const heat = (0.08 + 0.37 * value / most).toFixed(3);
    return svg`<g><title>${`${rows[row]}, ${names[column]}: ${value}`}</title>
      <rect class=${same && row === column ? 'cell same' : 'cell'} x=${x} y=${y} width=${size} height=${size}/>
      ${value ? svg`<rect class="heat" x=${x + 1} y=${y + 1} width=${size - 2} height=${size - 2} fill-opacity=${heat}/>
        <text class="count" x=${x + size / 2} y=${y + size / 2 + 4} text-anchor="middle">${value}</text>` : nothing}</g>`;
  };
  const begin = across.length * LETTER > whole - left ? 2 : left;
  const drawing = svg`
    ${across ? svg`<text class="name" x=${begin} y="14">${short(across, whole - 4)}</text>` : nothing}
    ${names.map((_, at) => svg`<text class="tick" x=${left + (at + 0.5) * size} y=${top - 6} text-anchor="middle">${at + 1}</text>`)}
    ${rows.map((name, row) => svg`<g><title>${name}</title><text class="label" x=${left - 6} y=${top + (row + 0.5) * size + 4}
      text-anchor="end">${short(numbered(name, row), left - 6)}</text></g>`)}
    ${counts.map((one, row) => one.map((value, column) => cell(value, row, column)))}`;
  const list = html`<figcaption class="legend">${names.map((name, at) => html`<span>${at + 1} ${name}</span>`)}</figcaption>`;
  return figure({
    title, about, width: whole, height: tall, room: width, drawing, legend: same ? nothing : list,
    head: ['Name', ...names], rows: rows.map((name, at) => [name, ...counts[at]]),
  });
}

// --- bars -------------------------------------------------------------------------------------------------------------

/**
 * Return bars, such as the progress of each person: `bars` are `{name, values, of, text}`, values one for each of `parts`
 * (up to three: full, hatched, empty); `of` is how long the whole bar would be, `text` what stands at its end.
 */
export function barChart({title, about, bars, parts, width = 640}) {
  if (!bars.length) return html`<p class="note">Nothing to draw yet.</p>`;
  const total = (one) => one.values.reduce((sum, value) => sum + value, 0);
  const most = Math.max(1, ...bars.map((one) => Math.max(one.of ?? 0, total(one))));
  const beside = width >= 460;  // else names stand above their bars
  const longest = Math.max(...bars.map((one) => one.name.length)) * LETTER + 10;
  const left = beside ? Math.min(width / 3, longest) : 2;
  const text = (one) => one.text ?? (known(one.of) ? `${number(total(one))} of ${number(one.of)}` : number(total(one)));
  const right = width - Math.max(...bars.map((one) => text(one).length)) * LETTER - 12;
  const row = beside ? 32 : 50;
  const at = scale([0, most], [left, right]);
  const piece = (one, part, from, y) => svg`<g><title>${`${one.name}, ${parts[part]}: ${number(one.values[part])}`}</title>
    ${block(part, at(from), y, at(from + one.values[part]) - at(from), 18)}</g>`;
  const name = ({name: said}, y) => (beside
    ? svg`<text class="label" x=${left - 8} y=${y + TEXT} text-anchor="end">${short(said, left - 8)}</text>`
    : svg`<text class="label" x="2" y=${y - 7}>${short(said, width - 4)}</text>`);
  const drawing = bars.map((one, place) => {
    const y = place * row + (beside ? 7 : 24);
    const begins = one.values.map((_, part) => one.values.slice(0, part).reduce((sum, value) => sum + value, 0));
    return svg`<g>${name(one, y)}
      ${known(one.of) ? svg`<rect class="rest" x=${left} y=${y} width=${at(one.of) - left} height="18"/>` : nothing}
      ${one.values.map((value, part) => (value ? piece(one, part, begins[part], y) : nothing))}
      <text class="tick" x=${at(Math.max(one.of ?? 0, total(one))) + 7} y=${y + TEXT}>${text(one)}</text></g>`;
  });
  const limited = bars.some((one) => known(one.of));
  const rows = bars.map((one) => [one.name, ...one.values.map(number), ...(limited ? [known(one.of) ? number(one.of) : '–'] : [])]);
  const legend = legendOf(parts, (part) => block(part, 1, 1, 32, 14));
  return figure({
    title, about, width, height: bars.length * row + 4, drawing, legend, head: ['Name', ...parts, ...(limited ? ['Of'] : [])], rows,
  });
}

/** Return a piece of a bar: full, hatched or empty, so that parts differ without their colours. */
function block(part, x, y, width, height) {
  const hatch = [];
  for (let at = x + 5; part === 1 && at < x + width - 1; at += 6) hatch.push(`M${at} ${y}v${height}`);
  return svg`<g class=${kind(part)}><rect class=${['solid', 'light', 'empty'][part % 3]} x=${x} y=${y} width=${width} height=${height}/>
    ${hatch.length ? svg`<path class="hatch" d=${hatch.join('')}/>` : nothing}</g>`;
}

// --- as wide as there is room -----------------------------------------------------------------------------------------

/** A chart as wide as its place: `<linnet-chart .of=${lineChart} .data=${{title, …}}>`. */
class Chart extends LitElement {
  static properties = {of: {attribute: false}, data: {attribute: false}, width: {state: true}};
  #sizes = new ResizeObserver(([{contentRect}]) => { this.width = Math.max(240, Math.floor(contentRect.width)); });
  createRenderRoot() { return this; }

  connectedCallback() {
    super.connectedCallback();
    this.#sizes.observe(this);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#sizes.disconnect();
  }

  render() {
    return this.width && this.of ? this.of({...this.data, width: Math.min(this.width, this.data.width ?? Infinity)}) : nothing;
  }
}

customElements.define('linnet-chart', Chart);
