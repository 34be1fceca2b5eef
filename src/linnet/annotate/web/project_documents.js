// The documents of a project: searched, filtered and sorted here, a page at a time.

import {api} from './api.js';
import {confirm, count, go, html, leads, nothing, plural, repeat, say, state, View} from './base.js';
import {about, keepFocus} from './forms.js';

const CHUNK = 1000;  // documents in one answer
const PAGE = 25;
const SHOWS = {
  all: 'all', open: 'mine, to read', done: 'mine, done', others: 'not mine', erased: 'erased',
};
const SORTS = {added: 'as they came', name: 'by name', long: 'longest first', short: 'shortest first'};
const BY = {
  added: (a, b) => a.document - b.document,
  name: (a, b) => a.ext_id.localeCompare(b.ext_id, 'en', {numeric: true}),
  long: (a, b) => b.length - a.length,
  short: (a, b) => a.length - b.length,
};
const FITS = {
  all: () => true, open: ({mine}) => mine && mine.state !== 'done', done: ({mine}) => mine?.state === 'done', others: ({mine}) => !mine,
  erased: ({redacted}) => redacted,
};
const STATES = {open: 'to read', done: 'done', reopened: 'reopened'};

class Documents extends View {
  static properties = {
    project: {type: Number}, found: {state: true}, reading: {state: true}, words: {state: true}, shows: {state: true},
    sort: {state: true}, page: {state: true}, erasing: {state: true},
  };

  constructor() {
    super();
    this.found = null;
    this.reading = this.erasing = false;
    this.words = '';
    this.shows = 'all';
    this.sort = 'added';
    this.page = 0;
  }

  connectedCallback() {
    super.connectedCallback();
    this.refresh();
  }

  /** Read the list, all of it: only so can it be searched and sorted. */
  async refresh() {
    if (this.reading) { this.again = true; return; }
    this.reading = true;
    const found = [];
    let after = 0;
    while (after !== null && this.isConnected) {
      const read = await this.tell(() => api.get(`/projects/${this.project}/documents?limit=${CHUNK}&after=${after}`));
      if (!read) break;
      found.push(...read.documents);
      after = read.next;
      if (!this.found || found.length > this.found.length) this.found = [...found];
    }
    if (after === null) {
      this.found = found;
      this.dispatchEvent(new CustomEvent('counted', {detail: found.length}));
    }
    this.reading = false;
    if (this.again) { this.again = false; this.refresh(); }
  }

  get fitting() {
    const words = this.words.toLowerCase().split(/\s+/).filter(Boolean);
    const named = ({ext_id: name}) => words.every((word) => name.toLowerCase().includes(word));
    return this.found.filter((one) => FITS[this.shows](one) && named(one)).sort(BY[this.sort]);
  }

  choose(values) {
    Object.assign(this, {page: 0}, values);
    this.updateComplete.then(() => say(plural(this.fitting.length, 'document')));
  }

  turn(step) {
    this.page += step;
    this.updateComplete.then(() => {
      say(this.range());
      this.querySelector('.doc-pages button:not(:disabled)')?.focus();
    });
  }

  /** Take a document that was not given to anybody by a strategy. */
  async take(one) {
    const wish = {documents: [one.document], users: [state.me.user]};
    const answer = await this.tell(() => api.post(`/projects/${this.project}/assignments`, wish));
    if (answer) go(`#/p/${this.project}/a/${answer.assignments[0]}`);
  }

  async erase(one) {
    const text = 'Text and comments are gone for good, on this server. Decisions stay, which hold none of it. Models that learned '
      + 'from it keep words of it until they are trained anew, and so do backups.';
    const yes = await confirm(`Erase the text of ${one.ext_id}?`, text, 'Erase for good');
    if (!yes) return;
    await this.tell(async () => {
      await api.delete(`/projects/${this.project}/documents/${one.document}`);
      say(`The text of ${one.ext_id} is erased`);
    });
    await this.refresh();
    await this.updateComplete;
    keepFocus(this, '.doc-table button.bad');
  }

  // --- what is drawn ------------------------------------------------------------------------------------------------

  row(one) {
    const {mine} = one, active = !this.its.archived;
    const act = (label, run, kind = '') => html`
      <button class=${kind} @click=${() => run.call(this, one)}>${label}${about(one.ext_id)}</button>`;
    const name = mine && !one.redacted ? html`<a href=${`#/p/${this.project}/a/${mine.assignment}`}>${one.ext_id}</a>` : one.ext_id;
    return html`<tr>
      <th scope="row" class="doc-name">${name}</th>
      <td class="number">${count(one.length)}</td>
      <td>${stateOf(one)}</td>
      <td><div class="row tight">
        ${!mine && leads() && active && !one.redacted ? act('Read it', this.take) : nothing}
        ${this.erasing && !one.redacted ? act('Erase', this.erase, 'bad') : nothing}
      </div></td></tr>`;
  }

  /** Draw the button that shows, for admins, a button at each document: seldom needed, and nothing for a slip. */
  eraser() {
    if (this.its.role !== 'admin' || this.its.archived || !this.found?.length) return nothing;
    return html`<button @click=${() => { this.erasing = !this.erasing; }}>${this.erasing ? 'Stop erasing' : 'Erase texts…'}</button>`;
  }

  range() {
    const all = this.fitting.length, from = this.page * PAGE;
    return `${count(from + 1)} to ${count(Math.min(all, from + PAGE))} of ${count(all)}`;
  }

  select(id, label, options, key) {
    const option = ([value, text]) => html`<option value=${value} ?selected=${value === this[key]}>${text}</option>`;
    return html`<div><label for=${id}>${label}</label><select id=${id} @change=${(event) => this.choose({[key]: event.target.value})}>
      ${Object.entries(options).map(option)}</select></div>`;
  }

  table(found) {
    if (!found.length) {
      const said = this.found.length ? 'None of the documents fits. Search other words, or show all.' : 'There are none yet.';
      return html`<p class="note">${said}</p>`;
    }
    const pages = Math.ceil(found.length / PAGE);
    this.page = Math.min(this.page, pages - 1);
    const shown = found.slice(this.page * PAGE, (this.page + 1) * PAGE);
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Table of documents"><table class="doc-table">
        <thead><tr><th scope="col">Document</th><th scope="col" class="number">Characters</th><th scope="col">State</th>
          <th scope="col"><span class="unseen">Acts</span></th></tr></thead>
        <tbody>${repeat(shown, (one) => one.document, (one) => this.row(one))}</tbody></table></div>
      ${pages > 1 ? html`<div class="row doc-pages"><button ?disabled=${this.page === 0} @click=${() => this.turn(-1)}>‹ Before</button>
        <span>${this.range()}</span>
        <button ?disabled=${this.page >= pages - 1} @click=${() => this.turn(1)}>Next ›</button></div>` : nothing}`;
  }

  render() {
    return html`<section class="panel" data-panel tabindex="-1" aria-label="Documents">
      <header><h2>Documents</h2>
        ${this.found ? html`<span class="note">${count(this.found.length)}${this.reading ? ', reading…' : ''}</span>` : nothing}
        ${this.eraser()}</header>
      ${this.found?.length ? html`<div class="row doc-filters" role="search" aria-label="Documents">
        <div><label for="documents-words">Search by name</label>
          <input id="documents-words" type="search" autocomplete="off" .value=${this.words}
            @input=${(event) => this.choose({words: event.target.value})}></div>
        ${this.select('documents-shows', 'Show', SHOWS, 'shows')} ${this.select('documents-sort', 'Sort', SORTS, 'sort')}</div>` : nothing}
      ${this.found ? this.table(this.fitting) : html`<p role="status">Reading the documents…</p>`}
    </section>`;
  }
}

function stateOf({redacted, mine}) {
  if (redacted) return html`<span class="bad">erased</span>`;
  if (!mine) return html`<span class="note">not mine</span>`;
  return html`<span class=${mine.state === 'done' ? 'good' : ''}>${STATES[mine.state]}</span>`;
}

customElements.define('linnet-project-documents', Documents);
