// Two models on the same documents: what the second has right that the first had wrong, and the other way round.

import {api, query} from './api.js';
import {count, html, leads, nothing, plural, toast, View} from './base.js';
import {named} from './jobs.js';
import {learn, nameOf} from './names.js';

const AROUND = 30;  // characters shown before and after a mention
const WHERE = 'On the documents that people are done with and neither model has learned from.';

class Compare extends View {
  static properties = {
    project: {type: Number}, models: {attribute: false}, inUse: {attribute: false}, pair: {state: true}, found: {state: true},
  };

  constructor() {
    super();
    this.models = [];
    this.pair = null;
    this.found = null;
  }

  get names() { return named(this.models); }

  /** Return the two models to begin with: the newest and the one in use, else the one before. */
  usual() {
    const [newest, second] = this.models.map((one) => one.id);
    if (!this.inUse || this.inUse === newest) return [second, newest];
    return [this.inUse, newest];
  }

  choose(at, id) {
    const [a, b] = this.pair ?? this.usual();
    this.pair = at ? [a, id] : [id, b];
    this.found = null;
  }

  async compare(a, b) {
    this.found = {a, b, waiting: true};
    const found = await this.tell(() => api.get(`/projects/${this.project}/compare${query({a, b})}`));
    this.found = found ? {a, b, ...found, texts: {}} : null;
    if (found?.examples?.length) this.explain(found.examples);
  }

  /** Read the texts and the names that examples are shown with. */
  async explain(examples) {
    const ids = examples.flatMap((one) => [one.a, one.b, one.gold].flatMap((some) => some ?? []));
    const documents = [...new Set(examples.map((one) => one.document))];
    const [, ...texts] = await Promise.all([
      learn(this.its.kb_version, this.project, ids).catch(() => false),  // ids are shown then
      ...documents.map((id) => this.tell(() => api.get(`/projects/${this.project}/documents/${id}`))),
    ]);
    if (!this.found) return;
    const read = texts.filter(Boolean).map((one) => [one.document, {id: one.ext_id, letters: [...(one.text ?? '')]}]);
    this.found = {...this.found, texts: Object.fromEntries(read)};
  }

  async suggest(model) {
    const job = await this.tell(() => api.post(`/projects/${this.project}/jobs`, {kind: 'predict', args: {model}}));
    if (job) toast(`${this.names.get(model)} is asked for suggestions; compare again when it is done`);
  }

  // --- drawing --------------------------------------------------------------------------------------------------------

  render() {
    if (this.models.length < 2) return nothing;
    const [a, b] = this.pair ?? this.usual();
    return html`<section class="panel" data-panel tabindex="-1" aria-label="Compare two models">
      <header><h2>Compare two models</h2></header>
      <div class="row ends">${this.choice(0, 'Before', a)}${this.choice(1, 'After', b)}
        <button ?disabled=${a === b} @click=${() => this.compare(a, b)}>Compare</button></div>
      <div aria-live="polite">${this.found ? this.difference() : html`<p class="note">${WHERE}</p>`}</div>
      ${this.found?.examples?.length ? this.examples() : nothing}
    </section>`;
  }

  choice(at, label, now) {
    const name = (one) => `${this.names.get(one.id)}${one.id === this.inUse ? ', in use' : ''}`;
    return html`<div><label for=${`compare-${at}`}>${label}</label>
      <select id=${`compare-${at}`} @change=${(event) => this.choose(at, event.target.value)}>
        ${this.models.map((one) => html`<option value=${one.id} ?selected=${one.id === now}>${name(one)}</option>`)}</select></div>`;
  }

  difference() {
    const {a, b, waiting, documents, both_right: right, both_wrong: wrong, fixed, broke} = this.found;
    const [before, after] = [this.names.get(a), this.names.get(b)];
    if (waiting) return html`<p class="note">Comparing…</p>`;
    if (!documents) return this.nowhere(a, b);
    const better = fixed === broke ? 'Both are right equally often' : `${fixed > broke ? after : before} is right more often`;
    const both = wrong === undefined ? `${count(right)} right` : `${count(right)} right and ${count(wrong)} wrong`;
    return html`<p><strong>${better}</strong> on ${plural(documents, 'document')}:
      ${after} has <strong class=${fixed ? 'good' : ''}>${count(fixed)} fixed</strong> that ${before} had wrong,
      and <strong class=${broke ? 'bad' : ''}>${count(broke)} broken</strong> that ${before} had right. Both have ${both}.</p>`;
  }

  nowhere(a, b) {
    const button = (id) => html`<button @click=${() => this.suggest(id)}>Let ${this.names.get(id)} suggest in all documents</button>`;
    return html`<p>There is no document that people are done with, both models have suggestions for and neither has learned from.</p>
      ${leads() ? html`<p class="row">${button(a)}${button(b)}</p>` : nothing}`;
  }

  examples() {
    const {a, b, examples} = this.found;
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Where the models differ"><table>
      <thead><tr>${['Text', this.names.get(a), this.names.get(b), 'People'].map((one) => html`<th scope="col">${one}</th>`)}</tr></thead>
      <tbody>${examples.map((one) => this.example(one))}</tbody></table></div>`;
  }

  example({document, parts, a, b, gold}) {
    const text = this.found.texts[document];
    return html`<tr>
      <th scope="row">${text ? inContext(text.letters, parts) : '…'} <small>${text?.id ?? ''}</small></th>
      <td>${judged(a, gold)} ${this.answer(a)}</td><td>${judged(b, gold)} ${this.answer(b)}</td><td>${this.answer(gold)}</td></tr>`;
  }

  /** Return what somebody says of a place: concepts, none that fits, or no mention at all. */
  answer(concepts) {
    if (!concepts) return html`<span class="note">nothing here</span>`;
    return concepts.length ? concepts.map((id) => nameOf(this.its.kb_version, id)).join(' + ') : 'not in the knowledge base';
  }
}

function judged(said, gold) {
  const right = JSON.stringify(said ?? null) === JSON.stringify(gold ?? null);
  return html`<span class=${right ? 'good' : 'bad'}><span aria-hidden="true">${right ? '✓' : '✗'}</span>
    <span class="unseen">${right ? 'right:' : 'wrong:'}</span></span>`;
}

/** Return marked text with some of what stands around it. `letters` are code points. */
function inContext(letters, parts) {
  const cut = (from, to) => letters.slice(Math.max(0, from), to).join('');
  const first = parts[0][0], last = parts.at(-1)[1];
  const pieces = parts.map(([start, end], at) => html`${at ? cut(parts[at - 1][1], start) : nothing}<strong>${cut(start, end)}</strong>`);
  return html`<span class="context">…${cut(first - AROUND, first)}${pieces}${cut(last, last + AROUND)}…</span>`;
}

customElements.define('linnet-compare', Compare);
