// How far readers agree, with intervals, by pair and by type; what they confuse most.

import {api} from './api.js';
import {html, nothing, plural, share, View} from './base.js';
import {figureNamed, gapIn} from './figures.js';
import {learn, nameOf} from './names.js';
import {allDocuments, judge} from './works.js';

const SIDE = [
  'span.exact.trimmed', 'span.overlap.trimmed', 'matched', 'link.nominal', 'link.steps', 'link.information',
  'end-to-end.nominal', 'end-to-end.steps',
];
const TYPED = [
  ['span.exact.trimmed', 'Same place'], ['matched', 'By two or more'],
  ['link.nominal', 'Concepts, α'], ['link.steps', 'Concepts, α by steps'],
];
const MATRIX = ['span.exact.trimmed', 'span.overlap.trimmed', 'matched', 'link.nominal', 'link.steps', 'end-to-end.nominal'];
const MOST_LINKS = 3;  // documents that are named beside a confusion
const known = (value) => value !== null && value !== undefined;
const figureText = (value) => share(known(value) && Math.abs(value) < 0.005 ? 0 : value);  // no “-.00”
const interval = ({low, high}) => (known(low) && known(high) ? `${figureText(low)} to ${figureText(high)}` : '–');

class Agreement extends View {
  static properties = {
    project: {type: Number}, found: {state: true}, names: {state: true}, stale: {state: true}, failed: {state: true}, figure: {state: true},
  };

  constructor() {
    super();
    Object.assign(this, {found: null, names: new Map(), stale: false, failed: '', figure: MATRIX[0]});
  }

  connectedCallback() {
    super.connectedCallback();
    this.listen((kind) => { if (['assignment', 'reset'].includes(kind) && this.found) this.stale = true; });
    this.load();
  }

  async load() {
    Object.assign(this, {found: null, stale: false, failed: ''});
    try {
      const [found, documents] = await Promise.all([api.get(`/projects/${this.project}/agreement`), allDocuments(this.project)]);
      this.names = new Map(documents.map((one) => [String(one.document), one.ext_id]));
      this.found = found;
    } catch (error) {
      this.failed = error.detail || error.message;
      return;
    }
    await learn(this.kb, this.project, this.found.confusions.flatMap((one) => [one.one, one.other].flat(2)));
    this.requestUpdate();
  }

  get kb() { return this.its.kb_version; }

  valueName(value) {
    return value.map((answer) => answer.map((id) => nameOf(this.kb, id)).join(' + ') || 'no concept (NIL)').join(' or ');
  }

  // --- drawing --------------------------------------------------------------------------------------------------------

  render() {
    const again = html`<button @click=${() => this.load()}>Work it out again</button>`;
    if (this.failed) return html`<section class="panel"><p class="bad" role="alert">${this.failed}</p>${again}</section>`;
    if (!this.found) return html`<p role="status">Working out agreement. In a large project this takes a while…</p>`;
    const {overall} = this.found;
    if (!overall.documents) {
      return html`<section class="panel"><h2>Agreement</h2><p>No two people have finished the same document yet.
        ${this.its.settings.annotators < 2 ? 'Set in the project that two or more read each document.' : ''}</p>${again}</section>`;
    }
    return html`${this.stale ? html`<p class="row" role="status">Work was finished since. ${again}</p>` : nothing}
      ${this.drawHeadline(overall)}${this.drawAll(overall)}${this.drawSides()}${this.drawTypes()}
      ${this.drawPairs()}${this.drawConfusions()}`;
  }

  drawHeadline({figures, documents, units, matched, annotators}) {
    const {low, high, value} = figures.matched;
    const rest = (share) => (known(share) ? 1 - share : null);
    const cards = [
      ['Same place (F1)', figures['span.exact.trimmed']], ['Concepts, α nominal', figures['link.nominal']],
      ['Concepts, α with the knowledge base', figures['link.steps']],
      ['Missed by all but one', {value: rest(value), low: rest(high), high: rest(low)}],
    ].filter(([, figure]) => figure);
    return html`<section class="panel"><header><h2>Agreement</h2></header>
      <p>${annotators.join(', ')}: ${plural(documents, 'document')} that two or more have finished, ${plural(units, 'marked thing')},
        ${matched} of them marked by two or more.</p>
      <dl class="headline">${cards.map(([title, figure]) => html`<div><dt>${title}</dt>
        <dd><b>${figureText(figure.value)}</b> <small>${interval(figure)}</small></dd></div>`)}</dl>
      ${gapIn(figures) ? html`<p>${gapIn(figures)}</p>` : nothing}
      <p class="note">Intervals hold ${Math.round(this.found.level * 100)} % of ${this.found.samples} draws of the documents: with few
        documents they are wide. α and κ of .80 and more are usually relied on, those below .67 are not. Mentions that came with a document
        and that all left as they are do not count.</p></section>`;
  }

  drawAll({figures}) {
    const all = Object.entries(figures).map(([name, figure]) => ({...figureNamed(name), figure}));
    const of = (group) => all.filter((one) => one.group === group);
    const words = of('words');
    return html`<section class="panel"><header><h2>All figures, and how to read them</h2></header>
      <h3>Places</h3>${this.drawFigures('Places', of('places'))}
      <h3>Concepts</h3>${this.drawFigures('Concepts', of('links'))}
      ${words.length ? html`<details><summary>Words and sections, by type: ${plural(words.length, 'figure')}</summary>
        ${this.drawFigures('Words and sections', words)}</details>` : nothing}</section>`;
  }

  drawFigures(title, rows) {
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${`Figures: ${title}`}><table class="figures">
      <thead><tr><th scope="col">Figure, and how to read it</th><th scope="col" class="number">Value</th>
        <th scope="col">Interval</th></tr></thead>
      <tbody>${rows.map(({title: name, about, type, figure}) => html`<tr>
        <th scope="row">${name}${type === null ? nothing : html` <span class="chip">${type || 'no type'}</span>`}
          <p>${about}${known(figure.value) ? '' : ' There is nothing yet to tell it from, or all say the same of everything.'}</p></th>
        <td class="number">${figureText(figure.value)}</td><td class="nowrap">${interval(figure)}</td></tr>`)}
      </tbody></table></div>`;
  }

  drawCell({figures}, name) {
    const figure = figures[name];
    if (!known(figure?.value)) return html`<td class="number">–</td>`;
    return html`<td class="number">${figureText(figure.value)} <small>${interval(figure)}</small></td>`;
  }

  drawSides() {
    const {with: on, without: off} = this.found.suggestions;
    if (!on || !off) return nothing;
    const head = (title, side) => html`<th scope="col" class="number">${title} (${plural(side.documents, 'document')})</th>`;
    return html`<section class="panel"><header><h2>With and without suggestions</h2></header>
      <p>Readers who accept the same suggestion agree by that alone: where the two differ much, believe the figures without.</p>
      ${off.documents ? nothing : html`<p class="warn">Two people have not yet read the same document without suggestions. Give some
        documents “to read without suggestions”.</p>`}
      <div class="scroll" tabindex="0" role="region" aria-label="With and without suggestions"><table>
        <thead><tr><th scope="col">Figure</th>${head('With', on)}${head('Without', off)}</tr></thead>
        <tbody>${SIDE.filter((name) => on.figures[name] || off.figures[name]).map((name) => html`<tr>
          <th scope="row">${figureNamed(name).title}</th>${this.drawCell(on, name)}${this.drawCell(off, name)}</tr>`)}
        </tbody></table></div></section>`;
  }

  drawTypes() {
    const types = Object.entries(this.found.types);
    if (!types.length) return nothing;
    return html`<section class="panel"><header><h2>By type</h2></header>
      <div class="scroll" tabindex="0" role="region" aria-label="Agreement by type"><table>
        <thead><tr><th scope="col">Type</th><th scope="col" class="number">Things</th>
          ${[...TYPED.map(([, title]) => title), 'Words, κ'].map((title) => html`<th scope="col" class="number">${title}</th>`)}
        </tr></thead>
        <tbody>${types.map(([type, one]) => html`<tr><th scope="row">${type || 'no type'}</th><td class="number">${one.units}</td>
          ${[...TYPED.map(([name]) => name), `fleiss.${type}`].map((name) => this.drawCell(one, name))}</tr>`)}
        </tbody></table></div></section>`;
  }

  drawPairs() {
    const {annotators} = this.found;
    return html`<section class="panel"><header><h2>By pair</h2></header>
      <p class="row"><label for="pair-figure">Figure</label>
        <select id="pair-figure" @change=${(event) => { this.figure = event.target.value; }}>${MATRIX.map((name) => html`
          <option value=${name} ?selected=${name === this.figure}>${figureNamed(name).title}</option>`)}</select></p>
      <div class="scroll" tabindex="0" role="region" aria-label="Agreement of every two readers"><table>
        <thead><tr><td></td>${annotators.map((one) => html`<th scope="col" class="number">${one}</th>`)}</tr></thead>
        <tbody>${annotators.map((one) => html`<tr><th scope="row">${one}</th>
          ${annotators.map((other) => this.drawPair(one, other))}</tr>`)}</tbody></table></div>
      <p class="note">${figureNamed(this.figure).about}</p></section>`;
  }

  drawPair(one, other) {
    if (one === other) return html`<td></td>`;
    const pair = this.found.pairs.find(({annotators}) => annotators.includes(one) && annotators.includes(other));
    const figure = pair?.figures[this.figure];
    return html`<td class="number">${figure ? html`<b>${figureText(figure.value)}</b>
      <small>${interval(figure)}<br>${plural(pair.documents, 'document')}</small>` : '–'}</td>`;
  }

  drawConfusions() {
    const {confusions} = this.found;
    if (!confusions.length) return nothing;
    const far = known(confusions[0].distances.steps);
    return html`<section class="panel"><header><h2>What readers confuse most</h2></header>
      <p class="note">Concepts that two readers gave to the same thing.
        ${far ? 'Distance by steps: .25 parent and child, .50 siblings, 1 far apart or no concept.' : nothing}</p>
      <div class="scroll" tabindex="0" role="region" aria-label="What readers confuse most"><table>
        <thead><tr><th scope="col">One says</th><th scope="col">Another says</th><th scope="col" class="number">Times</th>
          ${far ? html`<th scope="col" class="number">Distance</th>` : nothing}<th scope="col">Settle it in</th></tr></thead>
        <tbody>${confusions.map((one) => html`<tr><td>${this.valueName(one.one)}</td><td>${this.valueName(one.other)}</td>
          <td class="number">${one.count}</td>${far ? html`<td class="number">${share(one.distances.steps)}</td>` : nothing}
          <td>${this.drawDocuments(one.documents)}</td></tr>`)}</tbody></table></div></section>`;
  }

  drawDocuments(documents) {
    const more = documents.length - MOST_LINKS;
    const open = (id) => this.tell(() => judge(this.project, Number(id)));
    return html`<div class="row tight">
      ${documents.slice(0, MOST_LINKS).map((id) => html`<button @click=${() => open(id)}>${this.names.get(id) ?? id}</button>`)}
      ${more > 0 ? html`<small>and ${more} more</small>` : nothing}</div>`;
  }
}

customElements.define('linnet-agreement', Agreement);
