// Search of concepts: field, filters and list, as the picker and the screen of concepts share them.
//
// In the field letters and digits are always text. The arrow down leads into the list, where they are keys (keys.js).

import {html, live, nothing, plural, problem, remembered, repeat, say, share, View} from './base.js';
import {available, shown} from './keys.js';
import {describeKb, readChildren} from './kb.js';
import {Lookup} from './lookup.js';
import {known, learn} from './names.js';

const READ = 30;  // concepts of a list without a search whose definitions are read
const TELL_AFTER = 600;  // milliseconds without a letter until results are said
const PAGE = 8;  // rows that PageDown goes
const TIERS = {prefix: 'begins with'};  // as people call them, where that is different
const HEADINGS = {
  chosen: 'Chosen before for these words', suggested: 'Suggested', similar: 'Similar names', 'by meaning': 'Similar in meaning',
  'any word': 'Some of the words',
};
let finders = 0;

/** Draw the key of an action that can be done now. */
export function keyOf(id) {
  const [first] = available().find((one) => one.id === id)?.keys ?? [];
  return first ? html`<kbd aria-hidden="true">${shown(first)}</kbd>` : nothing;
}

export class Finder extends View {
  static properties = {
    project: {type: Number}, kb: {}, types: {attribute: false}, text: {state: true}, at: {state: true}, type: {state: true},
    under: {state: true}, kbTypes: {state: true},
  };

  constructor() {
    super();
    finders += 1;
    this.uid = `finder-${finders}`;
    this.lookup = new Lookup((anew) => this.hear(anew));
    Object.assign(this, {types: [], text: '', at: 0, type: '', under: null, kbTypes: {}, below: []});
  }

  connectedCallback() {
    super.connectedCallback();
    this.keys(this.actions());
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.lookup.stop();
    clearTimeout(this.telling);
  }

  willUpdate(changed) {
    if (changed.has('kb') && this.kb) this.describe();
  }

  async describe() {
    const {kb} = this;
    const found = await describeKb(kb).catch(() => null);  // search works without, and says what is wrong
    if (found && kb === this.kb) this.kbTypes = found.types;
  }

  // --- what is asked and shown ----------------------------------------------------------------------------------------

  get field() { return this.querySelector('.finder-words'); }
  get list() { return this.querySelector('.finder-list'); }
  get words() { return this.text.trim(); }
  get rows() { return this.words ? this.lookup.rows : this.under ? this.below : this.before(); }
  get active() { return this.rows[this.at] ?? null; }
  get inList() { return this.list?.contains(document.activeElement); }

  /** Return what is listed while nothing has been typed. */
  before() { return []; }

  seek() {
    this.at = 0;
    const {kb, project, words, type, under} = this;
    clearTimeout(this.telling);
    if (!words) {
      this.lookup.clear();
      if (under) this.listBelow();
      this.requestUpdate();
      return;
    }
    const first = this.types.filter((one) => one in this.kbTypes);
    this.lookup.ask({kb, project, q: this.text, types: type ? [type] : [], under: under ? [under.id] : [], first});
  }

  /** List what is directly below a concept: what there is to begin with when only that is searched. */
  async listBelow() {
    const {kb, project, under} = this;
    this.below = [];
    try {
      const {children} = await readChildren(kb, under.id);
      if (under !== this.under) return;
      this.below = children.map((one) => ({...one, tier: 'below'}));
      this.hear(true);
      await learn(kb, project, children.slice(0, READ).map((one) => one.id));
      this.below = this.below.map((one) => ({...known(kb, one.id), ...one}));
      this.requestUpdate();
    } catch (error) {
      problem(error);
    }
  }

  hear(anew) {
    if (anew) this.at = 0;
    this.requestUpdate();
    clearTimeout(this.telling);
    this.telling = setTimeout(() => say(this.tellRows()), TELL_AFTER);
  }

  tellRows() {
    const [first] = this.rows;
    if (this.lookup.problem) return this.lookup.problem;
    if (!first) return this.words ? 'No concept found' : '';
    return `${plural(this.rows.length, 'concept')}${this.lookup.hasMore ? ' and more' : ''}. First: ${this.describeRow(first)}`;
  }

  /** Return the first concept of what is in the field now: what was typed last is waited for. */
  async first() {
    const {wanted} = this.lookup;
    if (this.words) await this.lookup.ready;
    return wanted === this.lookup.wanted && this.isConnected ? this.rows[this.at] : null;
  }

  search(text) {
    this.text = text;
    this.seek();
  }

  limit(under) {
    this.under = under;
    this.seek();
    say(under ? `Below ${under.name} only` : 'Everywhere');
    this.updateComplete.then(() => { this.field?.focus(); this.field?.select(); });
  }

  /** What is done with a concept that somebody chooses. */
  take() {}

  // --- keys -----------------------------------------------------------------------------------------------------------

  actions() {
    return {
      'pick-below': () => { if (!this.active) return false; this.limit({id: this.active.id, name: this.active.name}); return true; },
      'pick-field': () => { this.field?.focus(); this.field?.select(); },
    };
  }

  fieldKey(event) {
    if (event.isComposing) return;
    const run = {
      Enter: () => this.enter(event.shiftKey),
      ArrowDown: () => this.enterList(),
      ArrowUp: () => {},
    }[event.key];
    if (!run || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  }

  async enter(more) {
    if (this.waiting) return;
    this.waiting = true;
    const row = await this.first();
    this.waiting = false;
    if (row) this.take(row, {more});
    else if (this.isConnected && this.words) say('No concept found yet');
  }

  enterList() {
    if (!this.rows.length) return;
    this.moveTo(0);
    this.list.focus({preventScroll: true});
  }

  listKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const {at} = this;
    const run = {
      ArrowDown: () => this.moveTo(at + 1), ArrowUp: () => (at ? this.moveTo(at - 1) : this.field.focus()),
      Home: () => this.moveTo(0), End: () => this.moveTo(this.rows.length - 1),
      PageDown: () => this.moveTo(at + PAGE), PageUp: () => this.moveTo(Math.max(0, at - PAGE)),
      Enter: () => this.active && this.take(this.active, {more: event.shiftKey}),
      Backspace: () => this.field.focus(),
    }[event.key];
    if (!run) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  }

  moveTo(number) {
    if (number >= this.rows.length) this.lookup.more();
    this.at = Math.max(0, Math.min(number, this.rows.length - 1));
    this.updateComplete.then(() => this.querySelector(`#${this.rowId(this.at)}`)?.scrollIntoView({block: 'nearest'}));
  }

  // --- what is drawn --------------------------------------------------------------------------------------------------

  rowId(number) { return `${this.uid}-${number}`; }

  drawTypes() {
    const all = Object.keys(this.kbTypes);
    if (all.length < 2) return nothing;
    const expected = this.types.filter((one) => all.includes(one));
    const option = (one, label = one) => html`<option value=${one} ?selected=${one === this.type}>${label}</option>`;
    const others = all.filter((one) => !expected.includes(one)).map((one) => option(one));
    const choose = (event) => { this.type = event.target.value; this.seek(); };
    return html`<select class="finder-types" aria-label="Type of concepts" @change=${choose}>
      ${option('', 'All types')}
      ${expected.length ? html`<optgroup label="Of the mention">${expected.map((one) => option(one))}</optgroup>
        <optgroup label="Others">${others}</optgroup>` : others}</select>`;
  }

  drawField() {
    return html`<div class="finder-bar">
      ${this.drawTypes()}
      <input type="search" class="finder-words" role="combobox" aria-label="Search concepts"
        aria-expanded=${this.rows.length > 0} aria-controls="${this.uid}-list" aria-autocomplete="list" aria-haspopup="listbox"
        autocomplete="off" spellcheck="false"
        autocapitalize="off" maxlength="500" placeholder="Name, words or id" .value=${live(this.text)}
        @input=${(event) => this.search(event.target.value)} @keydown=${(event) => this.fieldKey(event)}
        @focus=${() => { this.at = 0; }}>
      ${this.under ? html`<span class="chip finder-under">below ${this.under.name} <button type="button" class="quiet"
        aria-label="Search everywhere again" @click=${() => this.limit(null)}>✕</button></span>` : nothing}
    </div>`;
  }

  /** Draw how many there are, or why there is nothing; `remedy` is what else can be done then. */
  drawCount(remedy = '') {
    const {lookup, rows, words} = this;
    if (!words) return this.drawHint();
    if (lookup.problem) {
      return html`<p class="finder-count bad">${lookup.problem} <button type="button" @click=${() => this.seek()}>Try again</button></p>`;
    }
    if (!rows.length && lookup.busy) return html`<p class="finder-count">Searching…</p>`;
    if (!rows.length) {
      return html`<p class="finder-count">Nothing has “${words}” in a name.
        ${this.type || this.under ? 'Search without the filter, or with' : 'Try'} other or fewer words. ${remedy}</p>`;
    }
    const more = html`<button type="button" class="quiet" ?disabled=${lookup.busy} @click=${() => lookup.more()}>Show more</button>`;
    return html`<p class="finder-count">${lookup.hasMore ? `The first ${rows.length}` : plural(rows.length, 'concept')}${
      lookup.busy ? ', looking for more…' : ''} ${lookup.hasMore ? more : nothing}</p>`;
  }

  /** Draw what is said while nothing has been typed. */
  drawHint() {
    if (!this.under) return nothing;
    const size = this.below.length;
    return html`<p class="finder-count">${size ? plural(size, 'concept') : `Nothing is below ${this.under.name}`}</p>`;
  }

  drawList() {
    const {rows} = this;
    const groups = [];
    rows.forEach((row, number) => {
      const heading = row.tier === 'below' ? `Directly below ${this.under?.name}` : HEADINGS[row.tier] || '';
      if (groups.at(-1)?.heading !== heading) groups.push({heading, rows: []});
      groups.at(-1).rows.push([row, number]);
    });
    return html`<div class="finder-list" id="${this.uid}-list" role="listbox" tabindex="0" aria-label="Concepts"
        ?hidden=${!rows.length} aria-activedescendant=${rows.length ? this.rowId(this.at) : nothing}
        @keydown=${(event) => this.listKey(event)}>
      ${groups.map(({heading, rows: some}) => html`
        <div role="group" aria-label=${heading || 'Best matches'}>
          ${heading ? html`<div class="finder-heading" aria-hidden="true">${heading}</div>` : nothing}
          ${repeat(some, ([row]) => row.id, ([row, at]) => this.drawRow(row, at))}</div>`)}
    </div>`;
  }

  drawRow(row, number) {
    const matched = row.matched && row.matched.toLowerCase() !== row.name.toLowerCase() ? row.matched : '';
    const above = row.above?.length ? `below ${row.above.join(' ‹ ')}` : '';
    const tier = row.tier && !(row.tier in HEADINGS) && row.tier !== 'below' ? TIERS[row.tier] ?? row.tier : '';
    return html`<div class="hit" role="option" id=${this.rowId(number)} aria-selected=${number === this.at}
        aria-label=${this.labelOf(row, number)} @click=${(event) => this.take(row, {more: event.shiftKey})}>
      ${this.drawDigit(number)}
      <span class="what"><b>${row.name}</b> ${matched ? html`<span class="matched">“${matched}”</span>` : nothing}
        <code>${row.id}</code>
        ${row.used ? html`<span class="chip">used ${row.used}×</span>` : nothing}
        <small class="place"><span>${tier} ${(row.types || []).map((type) => html`<span class="chip">${type}</span> `)}</span>
          <span>${above}</span></small>
        ${row.definition ? html`<small class="definition">${row.definition}</small>` : nothing}</span>
      ${row.score != null && remembered.get('show-p', true) ? html`<small class="score">${share(row.score)}</small>` : nothing}
      ${this.drawHandle(number)}</div>`;
  }

  drawDigit() { return nothing; }

  drawHandle() { return nothing; }

  /** Make a row the active one. */
  hold(number) {
    this.moveTo(number);
    this.list.focus({preventScroll: true});
  }

  labelOf(row) { return this.describeRow(row); }

  describeRow(row) {
    const matched = row.matched && row.matched !== row.name ? `named ${row.matched}` : '';
    const used = row.used ? `used ${plural(row.used, 'time')}` : '';
    const above = row.above?.length ? `below ${row.above[0]}` : '';
    return [row.name, matched, row.id, ...(row.types || []), TIERS[row.tier] ?? row.tier, used, above]
      .filter(Boolean).join(', ');
  }
}
