// One concept as the knowledge base tells it: names, meaning, what is above and below.

import {api} from './api.js';
import {html, nothing, plural, say, View} from './base.js';
import {pathsTo, readConcept} from './kb.js';
import './concept_tree.js';

const NAMES = 24;  // names of one kind that are shown at once
const SCOPES = ['exact', 'narrow', 'broad', 'related'];
const languages = new Intl.DisplayNames(['en'], {type: 'language'});

function languageOf(code) {
  try {
    return code && languages.of(code);
  } catch {  // what a source calls a language need not be one
    return code;
  }
}

/** Return names by scope and language: `[{kind: 'exact, English', texts}]`. */
function byKind(names) {
  const kinds = new Map();
  const sorted = [...names].sort((a, b) => SCOPES.indexOf(a.scope) - SCOPES.indexOf(b.scope));
  for (const {text, scope, language} of sorted) {
    const kind = [scope, languageOf(language)].filter(Boolean).join(', ');
    kinds.set(kind, [...(kinds.get(kind) || []), text]);
  }
  return [...kinds].map(([kind, texts]) => ({kind, texts}));
}

/**
 * A concept; the event `shown` {id, name} tells that it is there. Where somebody goes on to another one the event `open`
 * {id, name} is sent; unless it is refused (`preventDefault`), the card shows that one.
 */
class Card extends View {
  static properties = {
    kb: {}, project: {type: Number}, concept: {}, level: {type: Number}, shown: {state: true}, paths: {state: true}, linked: {state: true},
    failed: {state: true}, all: {state: true},
  };

  constructor() {
    super();
    Object.assign(this, {level: 3, shown: null, paths: null, linked: null, failed: '', all: false, before: []});
  }

  willUpdate(changed) {
    if ((changed.has('concept') || changed.has('kb') || changed.has('project')) && this.kb && this.concept) {
      this.before = [];
      this.load(this.concept);
    }
  }

  async load(id) {
    this.wanted = id;
    Object.assign(this, {failed: '', all: false});
    try {
      const found = await readConcept(this.kb, this.project, id);
      if (id !== this.wanted) return;
      Object.assign(this, {shown: found, paths: null, linked: null});
      this.readLinked(found.id);
      this.dispatchEvent(new CustomEvent('shown', {bubbles: true, detail: {id: found.id, name: found.name}}));
      const paths = await pathsTo(this.kb, this.project, found);
      if (id === this.wanted) this.paths = paths;
    } catch (error) {
      if (id === this.wanted) Object.assign(this, {shown: null, failed: error.detail || error.message});
    }
  }

  /** Read where people have linked to it; a card without that is a card all the same. */
  async readLinked(id) {
    const query = new URLSearchParams({concept: id, limit: 5});
    const found = this.project ? await api.get(`/projects/${this.project}/mentions?${query}`).catch(() => null) : null;
    if (id === this.shown?.id) this.linked = found;
  }

  /** Go on to another concept. */
  open(id, name) {
    const event = new CustomEvent('open', {bubbles: true, cancelable: true, detail: {id, name}});
    if (!this.dispatchEvent(event)) return;
    this.before.push({id: this.shown.id, name: this.shown.name});
    this.go(id, name);
  }

  go(id, name) {
    say(name);
    this.load(id);
    this.querySelector('.card-name')?.focus();
  }

  link(one) {
    const follow = (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;  // which open another tab or window
      event.preventDefault();
      this.open(one.id, one.name);
    };
    return html`<a href=${`#/p/${this.project}/concepts/${encodeURIComponent(one.id)}`} @click=${follow}>${one.name}</a>`;
  }

  drawPaths() {
    const {parents} = this.shown;
    if (!parents.length) return html`<p class="note">Nothing is above it.</p>`;
    const paths = this.paths?.paths || parents.map((one) => [one]);
    const step = (one, number) => html`${number ? html` <span aria-hidden="true">▸</span> ` : nothing}${this.link(one)}`;
    return html`<ul class="paths">${paths.map((path) => html`<li>${path.map(step)}</li>`)}</ul>
      ${this.paths?.more ? html`<p class="note">There are more ways to it.</p>` : nothing}`;
  }

  drawNames() {
    const one = (text, number) => html`${number ? html`<span aria-hidden="true"> · </span>` : nothing}<span>${text}</span>`;
    return html`<dl class="names">${byKind(this.shown.names).map(({kind, texts}) => {
      const some = this.all ? texts : texts.slice(0, NAMES);
      const more = html`<button type="button" class="quiet" @click=${() => { this.all = true; }}>all ${texts.length}</button>`;
      return html`<dt>${kind}</dt><dd>${some.map(one)} ${some.length < texts.length ? more : nothing}</dd>`;
    })}</dl>`;
  }

  drawBelow() {
    const {id, name, children} = this.shown;
    if (!children) return html`<p class="note">Nothing is below it.</p>`;
    return html`<linnet-tree .kb=${this.kb} .project=${this.project} .concept=${id} .label=${`Below ${name}`}
      @open=${(event) => { event.stopPropagation(); this.open(event.detail.id, event.detail.name); }}
      @leave=${(event) => event.stopPropagation()} @moved=${(event) => event.stopPropagation()}></linnet-tree>`;
  }

  drawLinked(part) {
    if (!this.linked?.count) return nothing;
    const {count, mentions} = this.linked;
    return html`${part(`Linked here: ${plural(count, 'mention')}`)}
      <ul class="linked">${mentions.map((one) => html`<li><a href=${`#/p/${this.project}/a/${one.assignment}`}>${one.ext_id}</a>
        <small>…${one.before}<mark class="user">${one.words}</mark>${one.after}…</small></li>`)}</ul>`;
  }

  drawBack() {
    const last = this.before.at(-1);
    if (!last) return nothing;
    const back = () => { this.before.pop(); this.go(last.id, last.name); };
    return html`<button type="button" class="quiet" @click=${back}>◂ ${last.name}</button>`;
  }

  render() {
    if (this.failed) return html`<p class="bad">${this.failed}</p>`;
    if (!this.shown) return html`<p class="note">Reading the concept…</p>`;
    const {id, asked, name, types, definition, xrefs, children} = this.shown;
    const title = (level, text, of = '') => (level === 2 ? html`<h2 class=${of} tabindex=${of ? -1 : nothing}>${text}</h2>`
      : level === 3 ? html`<h3 class=${of} tabindex=${of ? -1 : nothing}>${text}</h3>` : html`<h4>${text}</h4>`);
    const part = (text) => title(this.level + 1, text);
    return html`<article class="card">
      ${this.drawBack()}
      ${title(this.level, name, 'card-name')}
      <p><code>${id}</code> ${types.map((type) => html`<span class="chip">${type}</span> `)}</p>
      ${asked !== id ? html`<p class="retired"><code>${asked}</code> has been retired: this concept has taken its place.</p>` : nothing}
      ${definition ? html`<p class="meaning">${definition}</p>` : html`<p class="note">The knowledge base has no definition of it.</p>`}
      ${part('Names')}${this.drawNames()}
      ${this.drawLinked(part)}
      ${part('Above it')}${this.drawPaths()}
      ${part(children ? `Below it (${children})` : 'Below it')}${this.drawBelow()}
      ${xrefs.length ? html`${part('In other terminologies')}
        <p class="xrefs">${xrefs.map((one) => html`<code>${one}</code> `)}</p>` : nothing}
    </article>`;
  }
}

customElements.define('linnet-card', Card);
