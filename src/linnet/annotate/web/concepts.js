// Screen of concepts: search on the left, one concept with all that is known of it on the right.

import {entitle, go, html, nothing, plural} from './base.js';
import './concept_card.js';
import {Finder, keyOf} from './concept_finder.js';
import {proposeConcept} from './concept_propose.js';
import {sentence} from './forms.js';
import {describeKb} from './kb.js';

class Concepts extends Finder {
  static properties = {concept: {}, shown: {state: true}, about: {state: true}};

  constructor() {
    super();
    Object.assign(this, {concept: '', shown: null, about: null});
  }

  connectedCallback() {
    super.connectedCallback();
    entitle('Concepts');
    this.kb = this.its.kb_version;
  }

  willUpdate(changed) {
    super.willUpdate(changed);
    if (changed.has('concept')) this.concept = this.concept === undefined ? '' : String(this.concept);
  }

  async describe() {
    await super.describe();
    this.about = await describeKb(this.kb).catch(() => null);
  }

  firstUpdated() {
    if (!this.concept) this.field?.focus({preventScroll: true});
  }

  /** What keys and buttons are about: the concept that is shown, where the focus is there. */
  get active() {
    const {activeElement: focused} = document;
    if (!this.querySelector('.concept-panel')?.contains(focused)) return super.active;
    return focused.closest('linnet-tree')?.active ?? this.shown;
  }

  hashOf(id) { return `#/p/${this.project}/concepts/${encodeURIComponent(id)}`; }

  /** Show a concept, under its own address. */
  take({id}) {
    go(this.hashOf(id));
    this.updateComplete.then(() => this.querySelector('.concept-panel')?.focus());
  }

  async propose() {
    const name = this.lookup.rows.some((one) => one.tier === 'exact') ? '' : this.words;
    const parent = this.under || (this.concept ? this.shown : null);
    await proposeConcept(this.kb, this.project, {name, parent, types: this.type ? [this.type] : []});
  }

  actions() {
    return {
      ...super.actions(),
      'pick-tree': () => { this.querySelector('linnet-card [role=tree]')?.focus(); },
    };
  }

  fieldKey(event) {
    if (event.key === 'Escape' && !event.isComposing) {
      event.preventDefault();
      event.stopPropagation();
      if (this.text) this.search('');
      else this.querySelector('.search-panel').focus();
      return;
    }
    super.fieldKey(event);
  }

  // --- what is drawn --------------------------------------------------------------------------------------------------

  /** Say why there is nothing to search, and what to do. */
  drawLack() {
    const {kb, kb_problem: lacking, role} = this.its;
    const remedy = role === 'admin' ? html`Choose one in the settings of <a href=${`#/p/${this.project}`}>the project</a>.`
      : 'An admin of the project can choose one in its settings.';
    if (!lacking) {
      return html`<h1>Concepts</h1>
        <div class="banner"><strong>This project has no knowledge base.</strong> Mentions can be marked, not linked to concepts.</div>
        <p>${remedy}</p>`;
    }
    return html`<h1>Concepts</h1>
      <div class="banner bad" role="alert"><strong>The knowledge base “${kb}” cannot be opened.</strong> ${sentence(lacking)}</div>
      <p>Whoever runs the server can put it back; decisions are kept meanwhile. ${remedy}</p>`;
  }

  drawConcept() {
    if (!this.concept) {
      return html`<p class="note">Search, and choose a concept: its meaning, its names and its place are shown here.</p>
        <p class="note"><kbd>↓</kbd> goes into the list, <kbd>Enter</kbd> shows a concept, ${keyOf('pick-below')} searches below it
          only, ${keyOf('pick-field')} goes back into the field.</p>`;
    }
    const {shown} = this;
    return html`
      <linnet-card .kb=${this.kb} .project=${this.project} .concept=${this.concept} .level=${2}
        @shown=${({detail}) => { this.shown = detail; entitle(detail.name); }}
        @open=${(event) => { event.preventDefault(); this.take(event.detail); }}></linnet-card>
      ${shown ? html`<button type="button" @click=${() => this.limit(shown)}>Search only below ${shown.name}</button>` : nothing}`;
  }

  render() {
    if (!this.kb) return this.drawLack();
    const {about} = this;
    const size = about && `${about.name}: ${plural(about.concepts, 'concept')}, ${plural(about.names, 'name')}`;
    return html`<div class="row screen-title"><h1>Concepts</h1> ${about ? html`<span class="note">${size}</span>` : nothing}</div>
      <div class="concepts-grid">
        <section class="panel search-panel" data-panel tabindex="-1" data-keys="picker" aria-label="Search">
          ${this.drawField()}
          ${this.drawCount()}
          ${this.drawList()}
          <div class="picker-acts"><button type="button" @click=${() => this.propose()}>Propose a new concept…</button></div>
        </section>
        <section class="panel concept-panel" data-panel tabindex="-1" data-keys="picker" aria-label="Concept">
          ${this.drawConcept()}</section>
      </div>`;
  }
}

customElements.define('linnet-concepts', Concepts);
