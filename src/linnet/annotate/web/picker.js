// The concept of a mention, chosen by search: opens with the focus in its field, ends with an event.

import {classMap, dialog, html, nothing, repeat, say} from './base.js';
import './concept_card.js';
import {Finder, keyOf} from './concept_finder.js';
import {proposeConcept} from './concept_propose.js';
import './concept_tree.js';
import {known, learn} from './names.js';

const DIGITS = 9;  // rows that a key takes

/** Why no concept fits: key, what is kept, what people read. */
export const NIL_REASONS = [
  ['n', 'not in KB', 'Not in the knowledge base'], ['g', 'too general', 'Too general'],
  ['m', 'not a mention', 'Not a mention by the guidelines'], ['o', 'other', 'Another reason'],
];

/** Ask why no concept fits: one key, or a button. Returns the reason, nothing where somebody thought better of it. */
export function askNil() {
  return dialog('No concept fits: why?', (close) => html`<div class="choices" @keydown=${(event) => {
    const found = !event.ctrlKey && !event.altKey && !event.metaKey && NIL_REASONS.find(([key]) => key === event.key.toLowerCase());
    if (!found) return;
    event.preventDefault();
    event.stopPropagation();
    close(found[1]);
  }}>${NIL_REASONS.map(([key, value, label], number) => html`<button type="button" ?autofocus=${number === 0} @click=${() => close(value)}>
    <kbd>${key}</kbd> ${label}</button>`)}</div>`);
}

/**
 * Search of a concept for some words. `start`: words to begin with; `types`: those expected; `used`: `{id, name, count}` chosen for the
 * same words before; `candidates`: `{id, name, types, score}`. Events: `choose` {concepts, names}, `nil` {nil}, `unsure`, `cancel`.
 */
class Picker extends Finder {
  static properties = {
    start: {}, used: {attribute: false}, candidates: {attribute: false}, chosen: {state: true}, tree: {state: true}, card: {state: true},
    read: {state: true},
  };

  constructor() {
    super();
    Object.assign(this, {start: '', used: [], candidates: [], chosen: [], tree: null, card: false, read: null});
  }

  firstUpdated() {
    if (this.start) this.search(this.start);
    this.updateComplete.then(() => { this.field?.focus({preventScroll: true}); this.field?.select(); });
  }

  willUpdate(changed) {
    super.willUpdate(changed);
    if (['used', 'candidates', 'kb'].some((one) => changed.has(one)) && this.kb) {
      const ids = [...this.used, ...this.candidates].map((one) => one.id);
      learn(this.kb, this.project, ids.filter(Boolean)).then((news) => news && this.requestUpdate());
    }
  }

  before() {
    const used = this.used.map((one) => ({...one, used: one.count, tier: 'chosen'}));
    const first = new Map();
    for (const row of [...used, ...this.candidates.map((one) => ({...one, tier: 'suggested'}))]) {
      if (row.id) first.set(row.id, {...row, ...first.get(row.id)});
    }
    return [...first.values()].map((row) => this.complete(row));
  }

  /** Return a row with what is known of its concept. */
  complete(row) {
    const about = known(this.kb, row.id) || {name: row.id, types: []};
    const name = row.name && row.name !== row.id ? row.name : about.name;
    return {...about, ...row, name, types: row.types?.length ? row.types : about.types};
  }

  /** The concept that keys and buttons are about: the one in the tree while that is open. */
  get active() { return this.tree ? this.querySelector('linnet-tree')?.active ?? null : super.active; }

  // --- what ends it ---------------------------------------------------------------------------------------------------

  send(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, {bubbles: true, detail}));
  }

  /** Take a concept: with `more` others follow. */
  take({id, name}, {more = false} = {}) {
    if (!this.chosen.some((one) => one.id === id)) this.chosen = [...this.chosen, {id, name}];
    if (!more) { this.finish(); return; }
    say(`${this.chosen.map((one) => one.name).join(' and ')}: Enter ends`);
    Object.assign(this, {tree: null, card: false});
    this.search('');
    this.updateComplete.then(() => this.field?.focus());
  }

  finish() {
    const {chosen} = this;
    this.chosen = [];
    this.send('choose', {concepts: chosen.map((one) => one.id), names: Object.fromEntries(chosen.map((one) => [one.id, one.name]))});
  }

  drop(id) {
    this.chosen = this.chosen.filter((one) => one.id !== id);
    this.field?.focus();
  }

  async nil() {
    const reason = await askNil();
    if (reason) this.send('nil', {nil: reason});
  }

  async propose() {
    const {active, words, type} = this;
    const parent = this.tree || this.inList ? active : this.under;
    const made = await proposeConcept(this.kb, this.project, {name: words, parent, types: type ? [type] : [], decide: true});
    if (made?.decide) this.send('nil', {nil: 'not in KB'});
  }

  // --- keys -----------------------------------------------------------------------------------------------------------

  actions() {
    return {
      ...super.actions(),
      pick: (event, key) => { const row = !this.tree && this.rows[Number(key) - 1]; if (!row) return false; this.take(row); return true; },
      'pick-nil': () => { this.nil(); },
      'pick-unsure': () => { this.send('unsure', {}); },
      'pick-tree': () => this.openTree(),
      'pick-details': () => this.openCard(),
    };
  }

  fieldKey(event) {
    if (!event.isComposing && event.key === 'Backspace' && !this.text && this.chosen.length) this.drop(this.chosen.at(-1).id);
    super.fieldKey(event);
  }

  async enter(more) {
    if (!this.words && this.chosen.length && !more) this.finish();
    else await super.enter(more);
  }

  /** Back out one level: from details, from the tree, from the picker. */
  back(event) {
    if (event.key !== 'Escape' || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    if (this.card) this.openCard();
    else if (this.tree) this.closeTree();
    else this.send('cancel', {});
  }

  openTree() {
    if (this.tree || !this.active) return false;
    this.tree = {id: this.active.id, name: this.active.name, at: this.at};
    this.updateComplete.then(() => this.querySelector('linnet-tree').focus());
    return true;
  }

  closeTree() {
    const {at} = this.tree;
    this.tree = null;
    this.updateComplete.then(() => this.hold(at));
  }

  openCard() {
    this.card = !this.card && Boolean(this.active);
    return true;
  }

  limit(under) {
    this.tree = null;
    super.limit(under);
  }

  search(text) {
    this.tree = null;
    super.search(text);
  }

  // --- what is drawn --------------------------------------------------------------------------------------------------

  drawDigit(number) {
    return html`<kbd>${number < DIGITS ? number + 1 : ' '}</kbd>`;
  }

  /** Draw what a finger or a mouse needs to choose a row without taking it; keys do without. */
  drawHandle(number) {
    const hold = (event) => {
      event.stopPropagation();
      this.hold(number);
      this.card = true;
    };
    return html`<span class="handle" aria-hidden="true" title="More about it" @click=${hold}>⋯</span>`;
  }

  labelOf(row, number) {
    return `${number < DIGITS ? `${number + 1}, ` : ''}${this.describeRow(row)}`;
  }

  drawChosen() {
    if (!this.chosen.length) return nothing;
    return html`<div class="picked">
      <ul aria-label="Chosen so far">${repeat(this.chosen, (one) => one.id, (one) => html`<li class="chip">${one.name}
        <button type="button" class="quiet" aria-label="Leave out ${one.name}" @click=${() => this.drop(one.id)}>✕</button></li>`)}</ul>
      <button type="button" class="main" @click=${() => this.finish()}>Take ${this.chosen.length === 1 ? 'it' : `all ${this.chosen.length}`}
        ${this.words ? nothing : html`<kbd aria-hidden="true">Enter</kbd>`}</button>
      <small>They hold at once. Search the next one, or end.</small></div>`;
  }

  drawHint() {
    if (this.under) return super.drawHint();
    if (!this.rows.length) return html`<p class="finder-count">Type a name, some words or an id.</p>`;
    return html`<p class="finder-count"><kbd>Enter</kbd> takes the first, <kbd>↓</kbd> leads to digits and the tree</p>`;
  }

  drawTree() {
    return html`<div class="picker-tree">
      <button type="button" class="quiet" @click=${() => this.closeTree()}>◂ Back to the list</button>
      <linnet-tree whole .kb=${this.kb} .project=${this.project} .concept=${this.tree.id} .label=${`Tree of ${this.tree.name}`}
        @open=${({detail}) => this.take(detail, detail)} @leave=${() => this.closeTree()}
        @moved=${() => this.requestUpdate()}></linnet-tree></div>`;
  }

  drawCard() {
    const {read} = this;
    const shown = ({detail}) => { this.read = detail; };
    const take = (event) => this.take(read, {more: event.shiftKey});
    return html`<section class="picker-card" aria-label="Details">
      <linnet-card .kb=${this.kb} .project=${this.project} .concept=${this.active.id} @shown=${shown}></linnet-card>
      ${read ? html`<button type="button" @click=${take}>Take ${read.name}</button>` : nothing}</section>`;
  }

  drawActs() {
    const row = this.rows[this.at];
    const act = (label, key, run) => html`<button type="button" @click=${run} ?disabled=${!row}>${label} ${key}</button>`;
    const end = (label, key, run) => html`<button type="button" @click=${run}>${label} ${key}</button>`;
    const fixed = (key) => html`<kbd aria-hidden="true">${key}</kbd>`;
    return html`<div class="picker-acts">
      <span role="group" aria-label=${row ? `About ${row.name}` : 'About the concept'}>
        ${act('Tree', keyOf('pick-tree'), () => this.openTree())}
        ${act('Only below', keyOf('pick-below'), () => this.active && this.limit({id: this.active.id, name: this.active.name}))}
        ${act('Details', keyOf('pick-details'), () => this.openCard())}
        ${act('Add', fixed('⇧Enter'), () => this.active && this.take(this.active, {more: true}))}</span>
      <span role="group" aria-label="No concept">
        ${end('NIL', keyOf('pick-nil'), () => this.nil())}
        ${end('Unsure', keyOf('pick-unsure'), () => this.send('unsure', {}))}
        ${end('Propose…', nothing, () => this.propose())}
        ${end('Cancel', fixed('Esc'), () => this.send('cancel', {}))}</span></div>`;
  }

  render() {
    if (!this.kb) {
      return html`<div class="picker"><p>There is no knowledge base to search.</p>
        <button type="button" @click=${() => this.send('cancel', {})}>Close</button></div>`;
    }
    return html`<div class="picker" data-keys="picker" role="search" aria-label="Concept" @keydown=${(event) => this.back(event)}>
      ${this.drawChosen()}
      ${this.drawField()}
      <div class=${classMap({'picker-body': true, 'with-card': this.card})}>
        <div>${this.tree ? this.drawTree() : html`${this.drawCount('Or none fits: NIL, or propose a new one.')}${this.drawList()}`}</div>
        ${this.card && this.active ? this.drawCard() : nothing}</div>
      ${this.drawActs()}</div>`;
  }
}

customElements.define('linnet-picker', Picker);
