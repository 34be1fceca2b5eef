// Adjudication of one document: what its readers say differently, one conflict after the other, and the result.

import {api} from './api.js';
import {classMap, confirm, dialog, entitle, go, html, nothing, plural, problem, remembered, say, state, toast, View} from './base.js';
import {answersIn, both, commandsFor, compare, isMerged, saidIn, settled} from './conflicts.js';
import {Desk} from './desk.js';
import {differencesOf, drawComments, drawConflict, drawConflicts, drawText, key} from './judge_panels.js';
import {keysOf, shown} from './keys.js';
import {kinshipOf} from './kinship.js';
import {learn, nameOf} from './names.js';
import {allAssignments, byDocument, personOf} from './works.js';

const MOST_KEPT = 500;  // decisions that can be taken back as one

class Judge extends View {
  static properties = {
    project: {type: Number}, assignment: {type: Number}, at: {state: true}, searching: {state: true}, whole: {state: true},
    named: {state: true}, kin: {state: true}, failed: {state: true},
  };

  constructor() {
    super();
    Object.assign(this, {at: '', searching: false, whole: false, named: false, kin: '', failed: '', found: null, desk: null});
    Object.assign(this, {readers: [], reading: [], works: [], awaited: 0});
  }

  connectedCallback() {
    super.connectedCallback();
    this.keys(this.actions());
    this.listen((kind, data) => this.hear(kind, data));
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.desk?.close();
  }

  willUpdate(changed) {
    if (changed.has('assignment') && this.assignment) this.begin();
  }

  // --- opening --------------------------------------------------------------------------------------------------------

  async begin() {
    this.desk?.close();
    Object.assign(this, {desk: null, found: null, at: '', searching: false, whole: false, named: false, kin: '', failed: '', held: null});
    const id = this.assignment;
    try {
      const desk = await new Desk(id).open();
      if (id !== this.assignment || !this.isConnected) { desk.close(); return; }
      if (desk.kind !== 'adjudicate') { desk.close(); go(`#/p/${this.project}/a/${id}`); return; }
      this.desk = desk;
      entitle(`Adjudicate ${desk.doc.ext_id}`, state.project.name);
      desk.addEventListener('change', () => { this.held = null; this.requestUpdate(); });
      desk.addEventListener('status', () => this.requestUpdate());
      desk.addEventListener('conflict', ({detail}) => this.tellConflict(detail));
      desk.addEventListener('done', ({detail}) => this.tellDone(detail));
      await this.readWorks();
      await this.updateComplete;
      this.querySelector('.text')?.focus({preventScroll: true});
    } catch (error) {
      this.failed = error.status === 404 ? 'There is no such adjudication, or you may not see it.' : error.detail || error.message;
    }
  }

  /** Read what the readers say, and compare it. */
  async readWorks() {
    const {desk} = this;
    const {readers} = byDocument(await allAssignments(this.project)).find((one) => one.document === desk.document) ?? {readers: []};
    const done = readers.filter((one) => one.state === 'done');
    const first = desk.document % (done.length || 1);  // so that the first one is not always the same person
    this.readers = [...done.slice(first), ...done.slice(0, first)];
    this.reading = readers.filter((one) => one.state !== 'done' && one.seq);
    this.works = await Promise.all(this.readers.map((one) => api.get(`/assignments/${one.assignment}`)));
    if (desk !== this.desk) return;
    const {conflicts, alike, out} = compare(this.works.map(saidIn));
    const late = alike.filter((one) => !isMerged(one, this.layers)).map((one) => ({...one, differences: ['late']}));
    this.found = {conflicts: [...conflicts, ...late], alike: alike.filter((one) => !late.some(({id}) => id === one.id)), out};
    if (!this.conflict) this.focusOn((this.open[0] ?? this.found.conflicts[0])?.id ?? '', {quiet: true});
    const marks = this.found.conflicts.flatMap((one) => one.marks).filter(Boolean);
    learn(this.kb, this.project, marks.flatMap((one) => one.concepts || [])).then(() => this.requestUpdate());
  }

  hear(kind, data) {
    const theirs = kind === 'assignment' && this.works?.some((one) => one.id === data.assignment);
    if (!this.desk || !(theirs || kind === 'reset')) return;
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.readWorks().catch(problem), 500);
  }

  get kb() { return state.project.kb_version; }
  get conflicts() { return this.found?.conflicts ?? []; }
  get conflict() { return this.conflicts.find((one) => one.id === this.at) ?? null; }
  get open() { return this.conflicts.filter((one) => !this.resultOf(one)); }
  get mine() { return this.desk.user === state.me.user; }

  /** What stands in the adjudication, with what the server does not have yet. */
  get layers() { return this.held ??= this.readLayers(); }

  readLayers() {
    const decided = [...this.desk.mentions.filter((one) => one.decided), ...this.desk.rejected];
    return {decided: new Map(decided.map((one) => [one.id, one])), gold: this.desk.gold, pred: this.desk.pred};
  }

  resultOf(conflict) { return settled(conflict, this.layers.decided); }

  // --- moving ---------------------------------------------------------------------------------------------------------

  focusOn(id, {quiet = false, before = ''} = {}) {
    this.at = id;
    this.searching = false;
    this.kin = '';
    this.relate();
    const number = this.conflicts.indexOf(this.conflict) + 1;
    if (!quiet && number) say(`${before}Conflict ${number} of ${this.conflicts.length}: ${this.describe(this.conflict)}`);
    this.updateComplete.then(() => this.show());
  }

  show() {
    this.querySelector('mark.conflict')?.scrollIntoView({block: 'nearest', behavior: 'instant'});
    const row = this.querySelector('.conflicts [aria-selected=true]');
    const list = row?.parentElement;
    if (!list) return;  // it is scrolled by itself: the page stays where the text is
    const above = row.offsetTop - list.offsetTop, below = above + row.offsetHeight - list.clientHeight;
    list.scrollTop = Math.min(above, Math.max(below, list.scrollTop));
  }

  step(by) {
    const {conflicts} = this;
    if (!conflicts.length) { say('There is no conflict'); return; }
    const from = conflicts.findIndex((one) => one.id === this.at);
    this.focusOn(conflicts[(from + by + conflicts.length) % conflicts.length].id);
  }

  nextOpen() {
    const from = this.conflicts.findIndex((one) => one.id === this.at);
    const next = [...this.conflicts.slice(from + 1), ...this.conflicts.slice(0, from)].find((one) => !this.resultOf(one));
    if (next) this.focusOn(next.id, {before: 'Settled. '});
    else say(`All conflicts are settled: ${shown(keysOf('done')[0] ?? 'Done')} gives the document back`);
  }

  /** Tell how the concepts of the first two answers are related. */
  async relate() {
    const {conflict} = this;
    const linked = conflict ? answersIn(conflict).filter(({mark}) => mark?.concepts?.length) : [];
    if (linked.length < 2) return;
    const said = await kinshipOf(this.kb, this.project, ...linked.slice(0, 2).map(({mark}) => mark.concepts)).catch(() => '');
    if (conflict.id === this.at) this.kin = said;
  }

  // --- in words -------------------------------------------------------------------------------------------------------

  surface(mark) { return mark.parts.map((part) => this.desk.offsets.slice(...part)).join(' … '); }
  surfaceOf({marks}) { return this.surface(marks.find(Boolean)); }
  describe(conflict) {
    const found = this.resultOf(conflict);
    return `${this.surfaceOf(conflict)}, ${differencesOf(conflict)}, ${found ? `settled: ${this.resultText(found)}` : 'open'}`;
  }

  meaning(mark) {
    if (mark.concepts === null) return 'not linked';
    const all = [mark.concepts, ...mark.alternatives].map((one) => one.map((id) => nameOf(this.kb, id)).join(' + ') || 'no concept (NIL)');
    return all.join(' or ') + (mark.nil ? `: ${mark.nil}` : '');
  }

  resultText({marks}) { return marks.map((one) => `“${this.surface(one)}”, ${this.meaning(one)}`).join('; ') || 'no mention'; }

  nameOfReader(reader) {
    const number = `Reader ${reader + 1}`;
    return this.named && this.desk.done ? `${number}: ${personOf(this.readers[reader].user)}` : number;
  }

  // --- deciding -------------------------------------------------------------------------------------------------------

  /** Whether nothing can be settled now. */
  get still() { return !this.mine || this.desk.done || this.desk.doc.redacted; }

  /** The same, and the person is told why. */
  get locked() {
    if (!this.desk || this.desk.doc.redacted) return true;
    if (!this.mine) { toast(`${personOf(this.desk.user)} settles this document: it can be read alone`); return true; }
    if (!this.desk.done) return false;
    toast('The document is done: reopen it to change something', {action: {label: 'Reopen', run: () => this.reopen()}});
    return true;
  }

  /** Make `wanted` what stands of the conflict, and go to the next one that is open. */
  settle(wanted) {
    const {conflict} = this;
    if (!conflict || this.locked) return;
    const commands = commandsFor(conflict, wanted, this.layers);
    const surfaceOf = ({parts}) => (parts ? {surface: parts.map((part) => this.desk.offsets.slice(...part)).join(' ')} : {});
    for (const [op, fields] of commands) this.desk.do(op, {...fields, ...surfaceOf(fields)});
    this.remember(commands.length, conflict.id);
    this.nextOpen();
  }

  take(number) {
    const answer = this.conflict && answersIn(this.conflict)[number];
    if (!answer) { say(number ? 'There is one answer alone' : 'There is no conflict'); return; }
    this.settle(answer.mark ? [{...answer.mark, unsure: false}] : []);
  }

  /** Return what "both" would make, null where there is nothing to put together. */
  bothOf(conflict) {
    const marks = answersIn(conflict).map(({mark}) => mark).filter(Boolean);
    const made = marks.length > 1 ? both(marks) : [];
    return made.length > 1 || made[0]?.concepts.length > 1 ? made : null;
  }

  takeBoth() {
    const wanted = this.conflict && this.bothOf(this.conflict);
    if (wanted) this.settle(wanted); else toast('Both cannot be put together here');
  }

  search() {
    if (!this.conflict || this.locked) return;
    if (!this.kb) { toast('This project has no knowledge base to search in'); return; }
    this.searching = true;
  }

  endSearch() {
    this.searching = false;
    this.querySelector('.text')?.focus({preventScroll: true});
  }

  takeOther(concepts, nil = '') {
    const found = this.resultOf(this.conflict)?.marks[0] ?? this.conflict.marks.find(Boolean);
    this.endSearch();
    this.settle([{...found, concepts, alternatives: [], nil, types: undefined, unsure: false}]);
    learn(this.kb, this.project, concepts).then((news) => news && this.requestUpdate());
  }

  async comment() {
    const {conflict} = this;
    if (!conflict || this.locked) return;
    const text = await askComment(`Comment on “${this.surfaceOf(conflict)}”`);
    if (!text?.trim()) return;
    const {decided, gold, pred} = this.layers;
    const there = conflict.ids.find((id) => decided.has(id) || gold.has(id) || pred.has(id));
    const said = there ? text.trim() : `“${this.surfaceOf(conflict)}”: ${text.trim()}`;  // nothing that it could hang on yet
    this.desk.do('comment', {text: said, ...(there ? {mention: there} : {})});
    this.remember(1, conflict.id);
  }

  // --- undo -----------------------------------------------------------------------------------------------------------
  // A decision can be several commands, which the server takes back one by one: how many belong together is kept here.

  get trail() { return remembered.get(`judged.${this.assignment}`, {past: [], future: []}); }
  set trail(found) { remembered.set(`judged.${this.assignment}`, found); }

  remember(commands, id) {
    if (commands) this.trail = {past: [...this.trail.past, {commands, id}].slice(-MOST_KEPT), future: []};
  }

  history(op) {
    if (this.locked) return;
    const {past, future} = this.trail;
    const [from, to] = op === 'undo' ? [past, future] : [future, past];
    const {commands, id} = from.pop() ?? {commands: 1, id: ''};
    if (id) to.push({commands, id});
    this.trail = {past, future};
    this.awaited = commands;
    for (let number = 0; number < commands; number += 1) this.desk.do(op);
    if (this.conflicts.some((one) => one.id === id)) this.focusOn(id, {quiet: true});
  }

  tellDone({op, mentions}) {
    if (!['undo', 'redo'].includes(op)) return;
    this.awaited -= 1;
    if (this.awaited > 0) return;
    const word = op === 'undo' ? 'Undone' : 'Done again';
    toast(!mentions.length ? `Nothing to ${op}` : this.conflict ? `${word}: ${this.describe(this.conflict)}` : word);
  }

  tellConflict({command}) {
    const action = {label: 'Take mine', run: () => this.desk.again(command)};
    toast('This was settled otherwise in another window: look at it again', {kind: 'bad', loud: true, action});
  }

  // --- the document ---------------------------------------------------------------------------------------------------

  reopen() { this.desk.do('reopen'); this.remember(1, ''); }

  async giveBack() {
    if (!this.desk || !this.found) return;
    if (this.desk.done) { this.nextDocument(); return; }
    if (this.locked) return;
    const left = this.open.length;
    const text = `${plural(left, 'conflict is', 'conflicts are')} not settled. What came with the document stands there, nothing else.`;
    if (left && !await confirm('Some conflicts are open', text, 'Done all the same')) return;
    this.desk.do('done');
    this.remember(1, '');
    try {
      await this.desk.saved();
      toast(`${this.desk.doc.ext_id} is settled`);
      await this.nextDocument();
    } catch (error) {
      problem(error);
    }
  }

  async nextDocument() {
    const found = await this.tell(() => allAssignments(this.project));
    const waits = (one) => one.kind === 'adjudicate' && one.user === state.me.user && one.state !== 'done';
    const next = found?.find((one) => waits(one) && one.assignment !== this.assignment);
    go(`#/p/${this.project}/adjudicate${next ? `/${next.assignment}` : ''}`);
  }

  actions() {
    const ready = (run) => () => (this.found ? run() : false);
    const told = {
      'take-left': () => this.take(0), 'take-right': () => this.take(1), 'take-both': () => this.takeBoth(),
      'take-other': () => this.search(), 'take-none': () => this.settle([]), 'next-conflict': () => this.step(1),
      'previous-conflict': () => this.step(-1), 'comment-conflict': () => { this.comment(); }, undo: () => this.history('undo'),
      redo: () => this.history('redo'), done: () => { this.giveBack(); },
      back: () => { if (!this.searching) return false; this.endSearch(); return undefined; },
    };
    return Object.fromEntries(Object.entries(told).map(([id, run]) => [id, ready(run)]));
  }

  // --- drawing --------------------------------------------------------------------------------------------------------

  render() {
    const list = html`<a href=${`#/p/${this.project}/adjudicate`}>All documents</a>`;
    if (this.failed) return html`<h1>Adjudicate</h1><p class="bad" role="alert">${this.failed}</p><p>${list}</p>`;
    if (!this.found) return html`<p class="waiting" role="status">Opening the document…</p>`;
    const {desk} = this;
    const {done} = desk;
    return html`
      <div class="bar">
        <h1>${desk.doc.ext_id}</h1>${list}
        ${this.drawProgress()}
        <span class=${classMap({status: true, warn: desk.status === 'waiting'})}>${statusText(desk)}</span>
        ${done ? html`<span class="chip good">done</span>` : nothing}
        <span class="grow"></span>
        ${done && this.mine ? html`<button @click=${() => this.reopen()}>Reopen</button>` : nothing}
        ${this.mine ? html`<button class="main" @click=${() => this.giveBack()}>
          ${done ? 'Next document' : 'Done'} ${key('done')}</button>` : nothing}
      </div>
      ${this.drawNotices()}
      ${desk.doc.redacted ? html`<p class="bad">The text of this document was erased: nothing of it can be settled.</p>`
        : html`<div class="judging">${drawConflicts(this)}
          <div class="main-column">${drawText(this)}${drawConflict(this)}${drawComments(this)}</div></div>`}`;
  }

  drawProgress() {
    const all = this.conflicts.length, left = this.open.length;
    const {alike, out} = this.found;
    const bar = html`<progress max=${all} value=${all - left} aria-label="Conflicts settled"></progress>`;
    return html`<span class="row">${all ? bar : nothing}
      ${all - left} of ${plural(all, 'conflict')} settled</span>
      <span class="note">${plural(alike.length, 'mention')} alike, merged${out ? html` · ${out} ruled out by all` : nothing}</span>`;
  }

  drawNotices() {
    const {reading, readers} = this;
    return html`
      ${this.mine ? nothing : html`<p class="note">${personOf(this.desk.user)}
        ${this.desk.done ? 'has settled' : 'settles'} this document. You can read it.</p>`}
      ${reading.length ? html`<p class="warn">${plural(reading.length, 'reader works', 'readers work')} on this document again;
        only what is finished is shown.</p>` : nothing}
      ${readers.length < 2 ? html`<p class="warn">${readers.length ? 'Only one reader has' : 'No reader has'} finished this document:
        there is nothing to compare.</p>` : nothing}`;
  }
}

function askComment(title) {
  return dialog(title, (close) => html`<p class="note">Readers see it once you are done.</p>
    <label for="comment-text">Comment</label>
    <textarea id="comment-text" rows="3" autofocus @keydown=${(event) => {
      if (event.key !== 'Enter' || !event.ctrlKey) return;
      event.preventDefault();
      event.stopPropagation();
      close(event.target.value);
    }}></textarea>
    <footer><button type="button" class="main"
      @click=${(event) => close(event.target.closest('form').querySelector('textarea').value)}>Comment</button></footer>`);
}

function statusText(desk) {
  if (desk.status === 'waiting') return `${desk.unsent} waiting: no connection`;
  return desk.status === 'saving' ? 'saving…' : 'saved ✓';
}

customElements.define('linnet-judge', Judge);
