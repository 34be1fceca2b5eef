// The event log: who decided what when, what stood there before and after. It can be read, never changed.

import {api} from './api.js';
import {count, html, nothing, plural, repeat, View, when} from './base.js';
import {named} from './jobs.js';
import {logOf} from './log.js';
import {learn, nameOf} from './names.js';
import {Offsets} from './text.js';
import {allAssignments, allDocuments} from './works.js';

const PAGE = 50;  // events that are shown at once
const KINDS = {
  create: 'marked', link: 'linked', accept: 'accepted', reject: 'rejected', delete: 'deleted', move: 'moved the edges',
  type: 'changed the type', unsure: 'unsure', comment: 'commented', spread: 'did the same elsewhere', accept_over: 'accepted all above',
  undo: 'undid', redo: 'did again', done: 'done with the document', reopen: 'reopened the document', agreed: 'merged: all readers say so',
  upload: 'uploaded', redact: 'erased a text', concept: 'decided on a new concept', use: 'changed the model',
};
const COLUMNS = ['When', 'Who', 'Document', 'Did', 'What', 'Before → after', 'Seen with'];
const UNDECIDED = {p: 'a suggestion', g: 'as it came'};  // by how the address of a mention begins
const isMark = (value) => Boolean(value?.parts);

class Log extends View {
  static properties = {
    project: {type: Number}, read: {state: true}, failed: {state: true}, most: {state: true},
    actor: {state: true}, document: {state: true}, kind: {state: true},
  };

  constructor() {
    super();
    Object.assign(this, {read: 0, failed: '', most: PAGE, actor: '', document: '', kind: '', ready: false});
    Object.assign(this, {assignments: new Map(), documents: new Map(), models: new Map()});
    this.texts = new Map();  // offsets by document, null while they are asked for
  }

  connectedCallback() {
    super.connectedCallback();
    this.listen((kind) => { if (kind === 'reset') this.log.clear(); });
    this.reload(['mention', 'assignment', 'comment', 'document', 'reset'], () => this.load());
    this.load();
  }

  get log() { return logOf(this.project); }
  get kb() { return this.its.kb_version; }

  async load() {
    this.failed = '';
    try {
      const [assignments, documents, {models}] = await Promise.all([
        allAssignments(this.project), allDocuments(this.project), api.get(`/projects/${this.project}/models`),
        this.log.read((read) => { this.read = read; }),
      ]);
      this.assignments = new Map(assignments.map((one) => [one.assignment, one]));
      this.documents = new Map(documents.map((one) => [one.document, one.ext_id]));
      this.models = named(models);
      this.ready = true;
      this.requestUpdate();
    } catch (error) {
      this.failed = error.detail || error.message;
    }
  }

  // --- what is shown --------------------------------------------------------------------------------------------------

  documentOf({assignment}) { return this.assignments.get(assignment)?.document ?? null; }

  /** Return the events that pass the filters, newest first. */
  get passing() {
    const passes = (one) => (!this.actor || one.actor === this.actor) && (!this.kind || one.kind === this.kind)
      && (!this.document || String(this.documentOf(one)) === this.document);
    return this.log.events.filter(passes).reverse();
  }

  /** Ask for names of concepts and for the texts of what is shown. */
  updated() {
    if (!this.ready) return;
    const some = this.passing.slice(0, this.most);
    const values = some.flatMap((one) => [one.before, one.after]).filter(isMark);
    const ids = values.flatMap((one) => [...(one.concepts || []), ...one.alternatives.flat()]);
    learn(this.kb, this.project, ids).then((news) => news && this.requestUpdate());
    for (const one of some) this.readText(this.documentOf(one));
  }

  async readText(id) {
    if (id === null || this.texts.has(id)) return;
    this.texts.set(id, null);
    const found = await api.get(`/projects/${this.project}/documents/${id}`).catch(() => null);
    if (!found || found.redacted) return;
    this.texts.set(id, new Offsets(found.text));
    this.requestUpdate();
  }

  // --- in words -------------------------------------------------------------------------------------------------------

  surface(value, document) {
    const offsets = this.texts.get(document);
    if (!offsets) return value.parts.map((part) => part.join('–')).join(', ');
    return `“${value.parts.map((part) => offsets.slice(...part)).join(' … ')}”`;
  }

  meaning(value) {
    if (value.state !== 'live') return 'ruled out';
    const name = (concepts) => concepts.map((id) => nameOf(this.kb, id)).join(' + ') || 'no concept (NIL)';
    const said = value.concepts === null ? 'not linked' : [value.concepts, ...value.alternatives].map(name).join(' or ');
    return [said, value.nil, value.unsure ? 'unsure' : ''].filter(Boolean).join(', ');
  }

  /** Return what an event changed, `{what, before, after}` in words. */
  told(one) {
    const {before, after} = one;
    if (one.assignment === null) return {what: this.toldOfProject(one), before: '', after: ''};
    const left = after?.open?.length ? `${plural(after.open.length, 'suggestion')} left open` : '';
    if (!isMark(before) && !isMark(after)) return {what: left, before: '', after: ''};
    const document = this.documentOf(one);
    const surfaces = [before, after].map((value) => value && this.surface(value, document));
    const both = before && after;
    const [moved, retyped] = [both && surfaces[0] !== surfaces[1], both && String(before.types) !== String(after.types)];
    const said = (value, at) => (value === null ? UNDECIDED[one.mention[0]] ?? 'nothing' : [
      moved && surfaces[at], this.meaning(value), retyped && `type ${value.types.join(', ') || 'none'}`].filter(Boolean).join(', '));
    return {what: surfaces[1] ?? surfaces[0], before: said(before, 0), after: said(after, 1)};
  }

  toldOfProject({kind, after}) {
    if (kind === 'upload') return plural(Array.isArray(after.documents) ? after.documents.length : after.documents, 'document');
    if (kind === 'redact') return this.documents.get(after.document) ?? `document ${after.document}`;
    if (kind === 'concept') return after.now ? `${after.concept} is ${nameOf(this.kb, after.now)}` : after.concept;
    if (kind === 'use') return `${this.models.get(after.before) ?? 'none'} → ${this.models.get(after.model) ?? after.model ?? 'none'}`;
    return '';
  }

  // --- drawing --------------------------------------------------------------------------------------------------------

  render() {
    if (this.failed) {
      return html`<section class="panel"><p class="bad" role="alert">${this.failed}</p>
        <button @click=${() => this.load()}>Read again</button></section>`;
    }
    if (!this.ready) return html`<p role="status">Reading the log: ${count(this.read)} events…</p>`;
    const {passing} = this;
    const older = passing.length - this.most;
    return html`<section class="panel"><header><h2>Event log</h2><small>${plural(passing.length, 'event')}</small></header>
      <p class="note">Everything that was decided, newest first, as far as you may see it. Nothing of it can be changed or removed.</p>
      ${this.drawFilters()}
      ${passing.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Events"><table class="log">
        <thead><tr>${COLUMNS.map((one) => html`<th scope="col">${one}</th>`)}</tr></thead>
        <tbody>${repeat(passing.slice(0, this.most), (one) => one.n, (one) => this.drawRow(one))}</tbody></table></div>`
        : html`<p>No event is like this.</p>`}
      ${older > 0 ? html`<button @click=${() => { this.most += PAGE; }}>Show ${Math.min(PAGE, older)} older ones</button>` : nothing}
    </section>`;
  }

  drawFilters() {
    const all = (of) => [...new Set(this.log.events.map(of))].filter((one) => one !== null).sort();
    const held = all((one) => this.documentOf(one)).map((one) => [one, this.documents.get(one) ?? one]);
    const choice = (id, label, every, options, name) => html`<div><label for=${id}>${label}</label>
      <select id=${id} @change=${(event) => { this[name] = event.target.value; this.most = PAGE; }}><option value="">${every}</option>
        ${options.map(([value, text]) => html`<option value=${value} ?selected=${String(value) === this[name]}>${text}</option>`)}
      </select></div>`;
    return html`<div class="row filters">
      ${choice('log-actor', 'Person', 'Everybody', all((one) => one.actor).map((one) => [one, one]), 'actor')}
      ${choice('log-document', 'Document', 'All', held, 'document')}
      ${choice('log-kind', 'What was done', 'Everything', all((one) => one.kind).map((one) => [one, KINDS[one] ?? one]), 'kind')}</div>`;
  }

  drawRow(one) {
    const {what, before, after} = this.told(one);
    const document = this.documentOf(one);
    const adjudicates = this.assignments.get(one.assignment)?.kind === 'adjudicate';
    const model = one.model && (this.models.get(one.model) ?? one.model);
    const seen = [model, one.kb && `kb ${one.kb.slice(0, 8)}`, one.guideline && `guidelines ${one.guideline}`].filter(Boolean);
    return html`<tr><td class="nowrap">${when(one.at)}</td><td>${one.actor}</td>
      <td>${this.documents.get(document) ?? document}${adjudicates ? html` <small>adjudication</small>` : nothing}</td>
      <td>${KINDS[one.kind] ?? one.kind}</td><td>${what}</td>
      <td>${before || after ? html`${before} <span aria-hidden="true">→</span><span class="unseen">became</span> ${after}` : nothing}</td>
      <td><small>${seen.join(' · ')}</small></td></tr>`;
  }
}

customElements.define('linnet-log', Log);
