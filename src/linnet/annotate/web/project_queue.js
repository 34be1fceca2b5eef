// What somebody has to read: where they stopped, the documents that wait for them, and more of them.

import {api} from './api.js';
import {go, html, leads, nothing, plural, remembered, repeat, share, View, when, works} from './base.js';
import {faultsOf} from './forms.js';
import {strategyName, strategyOptions, STRATEGIES} from './project_fields.js';

const PAGE = 1000;  // assignments in one answer
const SHOWN = 10;
const MEASURED = 5;  // finished documents that tell how fast somebody is
const ENOUGH = 3;
const KINDS = {annotate: '', shared: 'shared with all', adjudicate: 'adjudicate'};

/** Return all assignments of somebody in a project, in the order in which they were given. */
export async function assignmentsOf(project) {
  const found = [];
  let after = 0;
  do {
    const page = await api.get(`/projects/${project}/assignments?limit=${PAGE}&after=${after}`);
    found.push(...page.assignments);
    after = page.next;
  } while (after);
  return found;
}

/** Return what the start of a project says: by what documents were drawn, and how far active sampling is off. */
export function coldness({strategy, cold_start: cold}) {
  const chosen = `Drawn: ${strategyName(strategy).toLowerCase()}. `;
  const {links, documents, links_left: linksLeft, documents_left: documentsLeft} = cold;
  if (cold.over) return `${chosen}The probabilities are calibrated, on ${plural(links, 'link')} in ${plural(documents, 'document')}.`;
  const within = documentsLeft ? `in ${linksLeft ? 'at least ' : ''}${plural(documentsLeft, 'more document')}` : '';
  const lacking = linksLeft ? [plural(linksLeft, 'more link'), within].filter(Boolean).join(', ') : within && `links ${within}`;
  if (lacking) return `${chosen}The project is at its start: the model chooses once there are ${lacking}.`;
  if (cold.ece === null) return `${chosen}The model chooses once suggestions in documents that were drawn by chance have been checked.`;
  return `${chosen}The model chooses once its probabilities are better calibrated: they are off by ${share(cold.ece)}, and by ${share(cold.ece_least)} at least; less than .10 will do.`;
}

/** Return how many of the open suggestions are expected to be wrong; null where probabilities are not calibrated. */
function expectedErrors({pred, open}) {
  const waiting = new Set(open), told = pred.filter((one) => waiting.has(one.id) && one.calibration && one.p !== null);
  return told.length ? told.reduce((sum, one) => sum + 1 - one.p, 0) : null;
}

class Queue extends View {
  static properties = {
    project: {type: Number}, documents: {state: true}, found: {state: true}, all: {state: true}, busy: {state: true},
    told: {state: true}, wrong: {state: true},
  };

  constructor() {
    super();
    this.found = this.documents = null;
    this.left = new Map();  // assignment -> undecided mentions
    this.speed = null;
    this.stamp = 0;  // of the suggestions that were counted
    this.all = this.busy = false;
    this.told = '';
    this.wrong = {};
    this.wish = {n: 10, strategy: ''};
  }

  connectedCallback() {
    super.connectedCallback();
    this.refresh();
  }

  get open() { return (this.found || []).filter((one) => one.state !== 'done'); }

  /** Count suggestions anew at the next refresh: others may be shown now. */
  stale() { this.stamp += 1; }

  has(assignment) { return this.open.some((one) => one.assignment === assignment); }

  async refresh() {
    const found = await this.tell(() => assignmentsOf(this.project));
    if (!found || !this.isConnected) return;
    const first = !this.found;
    this.found = found;
    await this.updateComplete;
    if (first && document.activeElement === document.body) (this.querySelector('.resume .main') || this.querySelector('section')).focus();
    await this.look();
    if (this.speed === null) await this.measure();
  }

  /** Count what is undecided in the documents that are shown. */
  async look() {
    const next = this.next();
    const shown = this.all ? this.open : this.open.slice(0, SHOWN);
    for (const one of new Set(next ? [next, ...shown] : shown)) {
      if (!this.isConnected) return;
      const key = `${one.seq} ${this.stamp}`;
      if (this.left.get(one.assignment)?.key === key) continue;
      const read = await api.get(`/assignments/${one.assignment}`).catch(() => null);
      if (!read) return;
      const wrong = expectedErrors(read);
      this.left.set(one.assignment, {key, open: read.open.length, wrong, bare: !read.suggestions, begun: read.decided.length > 0, gold: read.gold.length});
      this.requestUpdate();
    }
  }

  /** Measure how long the last documents took. */
  async measure() {
    const done = this.found.filter((one) => one.state === 'done' && one.kind === 'annotate').slice(-MEASURED);
    if (done.length < ENOUGH) return;
    const times = [];
    for (const one of done) {
      const read = await api.get(`/assignments/${one.assignment}/events?limit=1000`).catch(() => ({events: []}));
      times.push({ms: read.events.reduce((sum, event) => sum + (event.ms || 0), 0), decisions: read.events.length});
    }
    const sum = (key) => times.reduce((total, one) => total + one[key], 0);
    if (!sum('ms')) return;
    this.speed = {document: sum('ms') / times.length / 60000, decision: sum('ms') / sum('decisions') / 60000};
    this.requestUpdate();
  }

  minutes(one) {
    const left = this.left.get(one.assignment);
    if (!this.speed || !left) return 0;
    return Math.max(1, Math.round((left.open + 1) * this.speed.decision));
  }

  /** Return how long all of the queue is expected to take, in words. */
  get total() {
    if (!this.speed) return '';
    const minutes = this.open.reduce((sum, one) => sum + (this.minutes(one) || this.speed.document), 0);
    const hours = Math.floor(minutes / 60), rest = Math.round(minutes % 60);
    return `, about ${hours ? `${hours} h ` : ''}${rest} min`;
  }

  get size() {
    if (this.open.length) return `${plural(this.open.length, 'document')} to read${this.total}`;
    return this.found ? 'empty' : '';
  }

  // --- acts ---------------------------------------------------------------------------------------------------------

  /** Return where to go on: the last document unless it is done, or else the first one of the queue. */
  next() {
    const last = remembered.get(`last.${this.project}`);
    return this.open.find((one) => one.assignment === last) || this.open[0];
  }

  address(one) {
    return `#/p/${this.project}/${one.kind === 'adjudicate' ? 'adjudicate' : 'a'}/${one.assignment}`;
  }

  resume() {
    const next = this.next();
    if (!next) return false;
    go(this.address(next));
    return true;
  }

  /** Ask for more documents, as the form says. */
  async draw() {
    if (!works() || this.busy) return false;
    this.busy = true;
    this.wrong = {};
    this.told = '';
    try {
      const {n, strategy} = this.wish;
      const answer = await api.post(`/projects/${this.project}/samples`, {n, ...(strategy ? {strategy} : {})});
      try { await this.refresh(); } finally { this.told = this.drawn(answer, n); }  // what is said can be seen
    } catch (error) {
      this.wrong = faultsOf(error, {n: /$^/, strategy: /strategy|prediction/i});
    }
    this.busy = false;
    return true;
  }

  drawn(answer, n) {
    const got = answer.assignments.length;
    const many = this.its.settings.annotators;
    const rest = got < n ? ` ${got ? 'No more are' : 'None is'} left for you: the others are yours already, or are read by
      ${many === 1 ? 'somebody else' : `${many} people`}.` : '';
    return got ? `${plural(got, 'new document')}.${rest} ${coldness(answer)}` : rest.trim();
  }

  // --- what is drawn ------------------------------------------------------------------------------------------------

  leftOf(one) {
    const left = this.left.get(one.assignment);
    if (!left) return '';
    if (left.open) return `${plural(left.open, 'suggestion')} to decide${left.wrong === null ? '' : `, about ${left.wrong.toFixed(1)} of them wrong`}`;
    if (left.begun) return 'nothing left to decide';
    if (left.bare) return 'suggestions are hidden, to measure: mark all that you find';
    return left.gold ? `${plural(left.gold, 'mention')} came with it, no suggestions` : 'no suggestions: mark what you find';
  }

  resumeCard() {
    const next = this.next();
    if (!this.found) return html`<p role="status">Reading what you have to do…</p>`;
    if (!next) return this.nothingToDo();
    const begun = next.seq > 0;
    return html`<div class="resume">
      <div><h2>${begun ? 'Go on where you stopped' : 'Begin with your next document'}</h2>
        <p><strong class="doc-name">${next.ext_id}</strong> <span class="note">${this.leftOf(next)}</span></p></div>
      <a class="button main" href=${this.address(next)}>${begun ? 'Resume' : 'Begin'} <kbd>Enter</kbd></a></div>`;
  }

  nothingToDo() {
    const done = this.found.length;
    if (!works()) return html`<p>You may look at this project; nothing has to be done by you.</p>`;
    if (this.documents === 0) {
      return html`<div class="resume"><div><h2>There are no documents yet</h2>
          <p class="note">Upload the texts that are to be annotated.</p></div>
        <button class="main" @click=${() => this.dispatchEvent(new CustomEvent('upload'))}>Upload files</button></div>`;
    }
    return html`<div class="resume"><div><h2>${done ? 'All done' : 'Nothing to read yet'}</h2>
      <p class="note">${done ? `You have finished ${plural(done, 'document')}. Get more below`
        : 'Choose below how many documents you want'}${done && leads()
        ? html`, or <a href=${`#/p/${this.project}/models`}>train from what was decided</a>` : nothing}.</p></div></div>`;
  }

  row(one) {
    const minutes = this.minutes(one), kind = KINDS[one.kind];
    return html`<li>
      <a href=${this.address(one)} class="doc-name">${one.ext_id}</a>
      <span class="row tight note">
        ${kind ? html`<span class="chip">${kind}</span>` : nothing}
        ${one.seq > 0 ? html`<span class="chip">${one.state === 'reopened' ? 'reopened' : 'begun'}</span>` : nothing}
        ${one.why ? html`<span>${one.why}</span>` : nothing}
        <span>${this.leftOf(one)}</span>
        ${minutes ? html`<span>~${minutes} min</span>` : nothing}
      </span></li>`;
  }

  list() {
    const open = this.open;
    if (!open.length) return nothing;
    const shown = this.all ? open : open.slice(0, SHOWN);
    return html`<ol class="queue-list">${repeat(shown, (one) => one.assignment, (one) => this.row(one))}</ol>
      ${this.kept()}
      ${open.length > SHOWN ? html`<button @click=${() => { this.all = !this.all; this.updateComplete.then(() => this.look()); }}>
        ${this.all ? `Show the first ${SHOWN}` : `Show all ${open.length}`}</button>` : nothing}`;
  }

  /** Say until when documents are kept that were not begun. */
  kept() {
    const leases = this.open.filter((one) => one.lease && one.seq === 0).map((one) => one.lease).sort();
    if (!leases.length) return nothing;
    return html`<p class="note">What you have not begun is kept for you until ${when(leases[0])}; then others can get it.</p>`;
  }

  more() {
    if (!works() || this.its.archived || this.documents === 0) return nothing;
    const {strategy} = this.its.settings;
    return html`<form class="row draw-form" novalidate @submit=${(event) => { event.preventDefault(); this.draw(); }}>
        <div><label for="draw-n">How many</label>
          <input id="draw-n" type="number" min="1" max="200" .value=${String(this.wish.n)} aria-invalid=${this.wrong.n ? 'true' : nothing}
            aria-describedby="draw-wrong" @input=${(event) => { this.wish.n = event.target.valueAsNumber || 0; }}></div>
        <div><label for="draw-strategy">Which come first</label>
          <select id="draw-strategy" aria-describedby="draw-what draw-wrong"
            @change=${(event) => { this.wish.strategy = event.target.value; this.requestUpdate(); }}>
            ${strategyOptions(this.wish.strategy, strategy)}</select></div>
        <button type="submit" class=${this.open.length ? '' : 'main'} aria-disabled=${this.busy}>
          ${this.busy ? 'Choosing…' : this.found?.length ? 'Get more documents' : 'Get documents'} <kbd>d</kbd></button>
      </form>
      <p class="hint" id="draw-what">${STRATEGIES[this.wish.strategy || strategy]?.[1]}</p>
      <p class="wrong" id="draw-wrong" role="alert">${Object.values(this.wrong)[0] ?? nothing}</p>
      <p class="done-note" role="status">${this.told || nothing}</p>`;
  }

  render() {
    return html`<section class="panel queue-panel" data-panel tabindex="-1" aria-label="My work">
      ${this.resumeCard()}
      ${works() || this.open.length ? html`<header><h2>My queue</h2><span class="note">${this.size}</span></header>` : nothing}
      ${this.list()} ${this.more()}
    </section>`;
  }
}

customElements.define('linnet-project-queue', Queue);
