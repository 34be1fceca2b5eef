// Who has which document and how far it is; curators give documents to people here.

import {api} from './api.js';
import {count, html, nothing, openProject, plural, repeat, toast, View} from './base.js';
import {editSettings} from './project_settings.js';
import {allAssignments, allDocuments, byDocument, personOf, stageOf} from './works.js';

const PAGE = 50;  // documents that are shown at once
const MOST_GIVEN = 1000;  // documents of one request
const STAGES = [
  ['', 'All documents'], ['few', 'Too few readers'], ['none', 'Nobody has it'], ['open', 'Somebody is not done'], ['done', 'All are done'],
];
const LEADERS = ['curator', 'admin'], WORKERS = ['annotator', ...LEADERS];
const TASKS = {
  annotate: 'to read', bare: 'to read without suggestions', adjudicate: 'to settle where readers differ',
  shared: 'to work on together, all at once',
};

class Work extends View {
  static properties = {
    project: {type: Number}, rows: {state: true}, most: {state: true}, person: {state: true}, stage: {state: true}, words: {state: true},
    picked: {state: true}, order: {state: true}, wrong: {state: true},
  };

  constructor() {
    super();
    Object.assign(this, {rows: null, most: PAGE, person: '', stage: '', words: '', picked: new Set(), wrong: ''});
    this.order = {which: 'next', n: 10, users: new Set(), task: 'annotate'};
  }

  connectedCallback() {
    super.connectedCallback();
    this.reload(['assignment', 'document', 'member', 'reset'], () => this.load());
    this.load();
  }

  async load() {
    await this.tell(async () => {
      const [assignments, documents] = await Promise.all([allAssignments(this.project), allDocuments(this.project)]);
      const held = new Map(byDocument(assignments).map((one) => [one.document, one]));
      this.rows = documents.map((one) => ({...one, readers: [], judges: [], ...held.get(one.document)}));
    });
  }

  get wanted() { return this.its.settings.annotators; }

  // --- which are shown ------------------------------------------------------------------------------------------------

  get shown() {
    const words = this.words.toLowerCase();
    return this.rows.filter((row) => this.isAt(row) && this.isOf(row) && row.ext_id.toLowerCase().includes(words));
  }

  isOf({readers, judges}) { return !this.person || [...readers, ...judges].some((one) => String(one.user) === this.person); }

  isAt({readers}) {
    switch (this.stage) {
      case 'few': return readers.length < this.wanted;
      case 'none': return !readers.length;
      case 'open': return readers.some((one) => one.state !== 'done');
      case 'done': return readers.length > 0 && readers.every((one) => one.state === 'done');
      default: return true;
    }
  }

  // --- giving ---------------------------------------------------------------------------------------------------------

  /** Return the documents that the form is about. */
  get chosen() {
    if (this.order.which === 'picked') return this.rows.filter((row) => this.picked.has(row.document));
    const {users, n} = this.order;
    const free = ({readers, redacted}) => !redacted && readers.length < this.wanted && !readers.some((one) => users.has(one.user));
    return this.rows.filter(free).slice(0, n);
  }

  async give(event) {
    event.preventDefault();
    const {task} = this.order;
    const documents = this.chosen.map((one) => one.document), users = task === 'shared' ? [] : [...this.order.users];
    this.wrong = this.faultIn(documents, users);
    if (this.wrong) { await this.updateComplete; this.querySelector('.give .wrong').focus(); return; }
    const body = {documents, users, kind: task === 'bare' ? 'annotate' : task, suggestions: task !== 'bare'};
    const made = await this.tell(() => api.post(`/projects/${this.project}/assignments`, body));
    if (!made) return;
    const whom = task === 'shared' ? personOf(null) : users.map(personOf).join(', ');
    toast(`${plural(documents.length, 'document')} given to ${whom}`);
    this.picked = new Set();
    await this.load();
  }

  faultIn(documents, users) {
    if (!documents.length) return 'There is no such document: choose others.';
    if (documents.length > MOST_GIVEN) return `Give at most ${count(MOST_GIVEN)} documents at once.`;
    if (this.order.task !== 'shared' && !users.length) return 'Choose the people who get them.';
    const early = this.order.task === 'adjudicate' && this.rows.find((one) => documents.includes(one.document) && !isRead(one));
    return early ? `${early.ext_id} cannot be settled yet: that begins when all who have begun it are done.` : '';
  }

  set(values) { this.order = {...this.order, ...values}; this.wrong = ''; }

  pick(id, on) {
    const picked = new Set(this.picked);
    if (on) picked.add(id); else picked.delete(id);
    this.picked = picked;
    this.set({which: picked.size ? 'picked' : 'next'});
  }

  async settings() {
    if (!await editSettings()) return;
    await this.tell(() => openProject(this.project, {again: true}));
    dispatchEvent(new CustomEvent('linnet-changed'));
    this.requestUpdate();
  }

  // --- drawing --------------------------------------------------------------------------------------------------------

  render() {
    const {blind, role} = this.its;
    const rule = blind ? 'The project is blind: nobody sees what another has decided on a document before both are done.'
      : 'The project is not blind: everybody sees the work of all.';
    return html`<section class="panel">
      <header><h2>How documents are read</h2>
        ${role === 'admin' ? html`<button @click=${() => this.settings()}>Change</button>` : nothing}</header>
      <p>${plural(this.wanted, 'person reads', 'people read')} each document. ${rule}</p>
    </section>
    ${this.rows ? html`${this.drawGive()}${this.drawTable()}` : html`<p role="status">Reading…</p>`}`;
  }

  drawGive() {
    const {task} = this.order;
    return html`<section class="panel"><header><h2>Give documents to people</h2></header>
      <p class="note">People can also draw documents themselves, in the order that the project's strategy says.</p>
      <form class="give" novalidate @submit=${this.give}>
        <div class="parts">
          ${this.drawWhich()}
          <fieldset><legend>What for</legend>
            <select aria-label="What for" @change=${(event) => this.set({task: event.target.value, users: new Set()})}>
              ${Object.entries(TASKS).map(([name, title]) => html`<option value=${name} ?selected=${name === task}>${title}</option>`)}
            </select>
          </fieldset>
          ${task === 'shared' ? nothing : this.drawPeople()}
        </div>
        <p class="wrong" tabindex="-1" role="alert">${this.wrong}</p>
        <button type="submit" class="main">Give ${plural(this.chosen.length, 'document')}</button>
      </form></section>`;
  }

  drawWhich() {
    const {which, n} = this.order;
    const choice = (value, text) => html`<label class="line"><input type="radio" name="which" .checked=${which === value}
      @change=${() => this.set({which: value})}> ${text}</label>`;
    return html`<fieldset><legend>Which documents</legend>
      ${choice('next', 'The next that too few people read')}
      <label class="line most">At most <input class="few" type="number" min="1" max=${MOST_GIVEN} .value=${String(n)}
        @input=${(event) => this.set({which: 'next', n: Math.max(1, Number(event.target.value) || 1)})}></label>
      ${choice('picked', `Those ticked in the table below (${this.picked.size})`)}
    </fieldset>`;
  }

  drawPeople() {
    const {users, task} = this.order;
    const able = this.its.members.filter((one) => !one.disabled && (task === 'adjudicate' ? LEADERS : WORKERS).includes(one.role));
    const turn = (user, on) => {
      const chosen = new Set(users);
      if (on) chosen.add(user); else chosen.delete(user);
      this.set({users: chosen});
    };
    return html`<fieldset><legend>To whom</legend><div class="row">${able.map((one) => html`
      <label class="line"><input type="checkbox" .checked=${users.has(one.user)} @change=${(event) => turn(one.user, event.target.checked)}>
        ${one.name}</label>`)}</div></fieldset>`;
  }

  drawTable() {
    const {shown} = this;
    const more = shown.length - this.most;
    return html`<section class="panel"><header><h2>Who has what</h2><small>${plural(shown.length, 'document')}</small></header>
      ${this.drawFilters()}
      ${shown.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Who has what"><table class="works">
        <thead><tr><td></td><th scope="col">Document</th><th scope="col">Readers</th><th scope="col">Judge</th></tr></thead>
        <tbody>${repeat(shown.slice(0, this.most), (one) => one.document, (one) => this.drawRow(one))}</tbody></table></div>`
        : html`<p>No document is like this.</p>`}
      ${more > 0 ? html`<button @click=${() => { this.most += PAGE; }}>Show ${Math.min(PAGE, more)} more</button>` : nothing}
    </section>`;
  }

  drawFilters() {
    return html`<div class="row filters">
      <div><label for="work-words">Document</label><input id="work-words" type="search" .value=${this.words}
        @input=${(event) => { this.words = event.target.value; }}></div>
      <div><label for="work-person">Person</label><select id="work-person" @change=${(event) => { this.person = event.target.value; }}>
        <option value="">Anybody</option>
        ${this.its.members.map((one) => html`<option value=${one.user}>${one.name}</option>`)}</select></div>
      <div><label for="work-stage">State</label><select id="work-stage" @change=${(event) => { this.stage = event.target.value; }}>
        ${STAGES.map(([name, title]) => html`<option value=${name}>${title}</option>`)}</select></div>
    </div>`;
  }

  drawRow(row) {
    const {readers, judges, redacted} = row;
    const chip = (one) => html`<span class=${`chip ${one.state === 'done' ? 'good' : ''}`}>${personOf(one.user)}: ${stageOf(one)}</span> `;
    const few = readers.length < this.wanted && !redacted;
    const lacking = readers.length ? `${readers.length} of ${this.wanted}` : 'nobody';
    return html`<tr>
      <td><input type="checkbox" aria-label=${`Choose ${row.ext_id}`} .checked=${this.picked.has(row.document)}
        @change=${(event) => this.pick(row.document, event.target.checked)}></td>
      <th scope="row">${row.ext_id}${redacted ? html` <small>(erased)</small>` : nothing}</th>
      <td>${readers.map(chip)}${few ? html`<small>${lacking}</small>` : nothing}</td>
      <td>${judges.map((one) => html`<a href=${`#/p/${this.project}/adjudicate/${one.assignment}`}>${chip(one)}</a>`)}</td></tr>`;
  }
}

const isRead = ({readers}) => readers.some((one) => one.state === 'done') && !readers.some((one) => one.state !== 'done' && one.seq);

customElements.define('linnet-work', Work);
