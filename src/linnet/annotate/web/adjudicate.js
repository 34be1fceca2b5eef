// Adjudication: the documents that readers see differently, how many conflicts each has, and who settles them.

import {api} from './api.js';
import {entitle, html, leads, nothing, plural, problem, repeat, say, state, View} from './base.js';
import {compare, saidIn, settled} from './conflicts.js';
import {allAssignments, byDocument, judge, personOf} from './works.js';
import './judge.js';

const PAGE = 20;  // documents whose conflicts are counted at once: each takes a request for every reader
const counted = new Map();  // by assignments and their versions: what was counted

class Adjudicate extends View {
  static properties = {project: {type: Number}, assignment: {}, found: {state: true}, counts: {state: true}, most: {state: true}};

  constructor() {
    super();
    this.found = null;
    this.counts = new Map();
    this.most = PAGE;
  }

  willUpdate(changed) {
    if (!this.assignment && (changed.has('assignment') || changed.has('project'))) this.load();
  }

  connectedCallback() {
    super.connectedCallback();
    this.reload(['assignment', 'reset'], () => { if (!this.assignment) this.load(); });
  }

  async load() {
    entitle('Adjudicate', this.its.name);
    const all = await this.tell(() => allAssignments(this.project));
    if (!all) return;
    this.found = byDocument(all).map(caseOf).filter((one) => one.done.length > 1 || one.judges.length);
    await this.count();
  }

  /** Count the conflicts of those documents that are shown, one document after the other. */
  async count() {
    for (const one of this.found.slice(0, this.most)) {
      if (!this.isConnected || this.assignment) return;
      const key = [...one.done, ...one.judges.slice(0, 1)].map(({assignment, seq}) => `${assignment}:${seq}`).join(' ');
      try {
        if (!counted.has(key)) counted.set(key, await countOf(one));
      } catch (error) {
        problem(error);
        return;
      }
      this.counts = new Map(this.counts).set(one.document, counted.get(key));
    }
  }

  async begin(one) {
    say('Opening the document');
    await this.tell(() => judge(this.project, one.document));
  }

  // --- drawing --------------------------------------------------------------------------------------------------------

  render() {
    if (this.assignment) return html`<linnet-judge .project=${this.project} .assignment=${this.assignment}></linnet-judge>`;
    if (!this.found) return html`<h1>Adjudicate</h1><p role="status">Reading…</p>`;
    const shown = this.found.slice(0, this.most);
    const agrees = (one) => !one.judges.length && this.counts.get(one.document)?.all === 0;
    const parts = [
      ['In work', shown.filter((one) => one.judges.length && !one.settled)],
      ['Waiting for a judge', shown.filter((one) => !one.judges.length && !agrees(one))],
      ['Settled', shown.filter((one) => one.settled)],
      ['Readers agree on everything', shown.filter(agrees)],
    ];
    return html`<h1>Adjudicate</h1>
      <p>Where readers of a document differ, somebody settles it. What all say alike is merged by itself; only true conflicts are asked.</p>
      ${this.found.length ? nothing : html`<div class="panel"><p>No document waits. Documents come here once two people have finished them:
        set in the project how many read each document.</p></div>`}
      <div class="panels">${parts.map(([title, some]) => this.drawPart(title, some))}</div>
      ${this.found.length > this.most ? html`<p><button @click=${() => { this.most += PAGE; this.count(); }}>
        Show ${Math.min(PAGE, this.found.length - this.most)} more of ${this.found.length}</button></p>` : nothing}`;
  }

  drawPart(title, some) {
    if (!some.length) return nothing;
    return html`<section class="panel" data-panel tabindex="-1" aria-label=${title}>
      <header><h2>${title}</h2><small>${plural(some.length, 'document')}</small></header>
      <ul class="rows cases">${repeat(some, (one) => one.document, (one) => this.drawCase(one))}</ul></section>`;
  }

  drawCase(one) {
    const {done, reading, judges, settled: over} = one;
    const mine = judges.find((judge) => judge.user === state.me.user);
    const label = mine ? over ? 'Look' : 'Go on' : judges.length ? 'Look' : 'Settle';
    const where = mine ?? judges[0];
    const more = html`<span class="unseen"> ${one.ext_id}</span>`;
    return html`<li>
      <span class="what"><b>${one.ext_id}</b>
        <small>${plural(done.length, 'reader')}${reading ? html` · <span class="warn">${reading} still reading</span>` : nothing}${
          judges.length ? ` · ${over ? 'settled' : 'in work'} by ${mine ? 'you' : personOf(where.user)}` : ''}</small></span>
      <span class="state">${this.drawCount(one)}</span>
      ${where ? html`<a class="button" href=${`#/p/${this.project}/adjudicate/${where.assignment}`}>${label}${more}</a>`
        : reading || !leads() ? html`<small>${reading ? 'can be settled when all are done' : 'a curator settles it'}</small>`
          : html`<button @click=${() => this.begin(one)}>${label}${more}</button>`}</li>`;
  }

  drawCount(one) {
    const found = this.counts.get(one.document);
    if (!found) return html`<small>counting…</small>`;
    const inWork = one.judges.length && !one.settled && found.all;
    const said = inWork ? `${found.all - found.left} of ${found.all} settled` : plural(found.all, 'conflict');
    return html`${said}<small>${found.alike} alike</small>`;
  }
}

/** Return a document as a case: who is done, how many have begun and are not, and whether it is settled. */
function caseOf(one) {
  const done = one.readers.filter((reader) => reader.state === 'done');
  const reading = one.readers.filter((reader) => reader.state !== 'done' && reader.seq).length;
  const judges = [...one.judges].sort((a, b) => Number(b.user === state.me.user) - Number(a.user === state.me.user));
  return {...one, done, reading, judges, settled: judges.some((judge) => judge.state === 'done')};
}

/** Return how many conflicts a case has, how many are left, and how many mentions all have alike. */
async function countOf({done, judges}) {
  const works = await Promise.all(done.map((one) => api.get(`/assignments/${one.assignment}`)));
  const {conflicts, alike} = compare(works.map(saidIn));
  const result = judges.length ? await api.get(`/assignments/${judges[0].assignment}`) : {decided: []};
  const decided = new Map(result.decided.map((one) => [one.id, one]));
  return {all: conflicts.length, left: conflicts.filter((one) => !settled(one, decided)).length, alike: alike.length};
}

customElements.define('linnet-adjudicate', Adjudicate);
