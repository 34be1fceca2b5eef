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
    Object.assign(this, {readers: [], reading: [], works: [], awaited: 0, turned: false, given: []});
  }

  connectedCallback() {
    super.connectedCallback();
    this.keys(this.actions());
    this.listen((kind, data) => this.hear(kind, data));
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.leave();
  }

  willUpdate(changed) {
    if (changed.has('assignment') && this.assignment) this.begin();
  }

  // --- opening --------------------------------------------------------------------------------------------------------

  /** Leave the desk: what still happens there is not about what is shown. */
  leave() {
    this.desk?.close();
    clearTimeout(this.soon);
    Object.assign(this, {desk: null, found: null, given: []});
  }

  async begin() {
    this.leave();
    Object.assign(this, {at: '', searching: false, whole: false, named: false, kin: '', failed: '', held: null});
    const id = this.assignment;
    try {
      const desk = await new Desk(id).open();
      if (id !== this.assignment || !this.isConnected) { desk.close(); return; }
      if (desk.kind !== 'adjudicate') { desk.close(); go(`#/p/${this.project}/a/${id}`); return; }
      this.desk = desk;
      entitle(`Adjudicate ${desk.doc.ext_id}`, this.its.name);
      this.attend(desk);
      await this.readWorks();
      await this.updateComplete;
      if (desk === this.desk) this.querySelector('.text')?.focus({preventScroll: true});
    } catch (error) {
      if (id !== this.assignment) return;
      this.failed = error.status === 404 ? 'There is no such adjudication, or you may not see it.' : error.detail || error.message;
    }
  }

  /** Hear what becomes of a desk for as long as it is the one on the screen. */
  attend(desk) {
    const on = (kind, run) => desk.addEventListener(kind, ({detail}) => { if (desk === this.desk) run(detail); });
    on('change', () => { this.held = null; this.requestUpdate(); });
    on('status', () => { this.recount(desk, []); this.requestUpdate(); });
    on('conflict', ({command}) => this.tellConflict(desk, command));
    on('done', (detail) => this.tellDone(desk, detail));
  }

  /** Read what the readers say, and compare it. */
  async readWorks() {
    const {desk} = this;
    const {readers} = byDocument(await allAssignments(this.project)).find((one) => one.document === desk.document) ?? {readers: []};
    if (desk !== this.desk) return;
    const done = readers.filter((one) => one.state === 'done');
    const first = desk.document % (done.length || 1);  // so that the first one is not always the same person
    this.readers = [...done.slice(first), ...done.slice(0, first)];
    this.reading = readers.filter((one) => one.state !== 'done' && one.seq);
    const works = await Promise.all(this.readers.map((one) => api.get(`/assignments/${one.assignment}`)));
    if (desk !== this.desk) return;
    this.works = works;
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

  get kb() { return this.its.kb_version; }
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
    const {desk} = this;
    if (!desk || desk.doc.redacted) return true;
    if (!this.mine) { toast(`${personOf(desk.user)} settles this document: it can be read alone`); return true; }
    if (!desk.done) return false;
    toast('The document is done: reopen it to change something', {action: {label: 'Reopen', run: () => this.reopen(desk)}});
    return true;
  }

  /** Make `wanted` what stands of the conflict, and go to the next one that is open. */
  settle(wanted) {
    const {conflict} = this;
    if (!conflict || this.locked) return;
    this.give(this.desk, commandsFor(conflict, wanted, this.layers), conflict.id);
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
    const {conflict, desk} = this;
    if (!conflict || this.locked) return;
    const words = `“${this.surfaceOf(conflict)}”`;
    const {decided, gold, pred} = this.layers;
    const there = conflict.ids.find((id) => decided.has(id) || gold.has(id) || pred.has(id));
    const text = (await askComment(`Comment on ${words}`))?.trim();
    if (!text) return;
    const fields = there ? {text, mention: there} : {text: `${words}: ${text}`};  // nothing that it could hang on yet
    this.give(desk, [['comment', fields]], conflict.id);
  }

  // --- undo -----------------------------------------------------------------------------------------------------------
  // A decision can be several commands, which the server takes back one by one: how many belong together is kept here.

  trailOf(desk) { return remembered.get(`judged.${desk.id}`, {past: [], future: []}); }
  keepTrail(desk, found) { remembered.set(`judged.${desk.id}`, found); }

  /** Give commands `[op, fields]` that are one decision, about a conflict or the document. */
  give(desk, commands, id = '') {
    const surfaceOf = ({parts}) => (parts ? {surface: parts.map((part) => desk.offsets.slice(...part)).join(' ')} : {});
    for (const [op, fields] of commands) desk.do(op, {...fields, ...surfaceOf(fields)});
    if (commands.length) this.remember(desk, commands.map(([op, fields]) => addressOf({op, ...fields})), id);
  }

  /** Keep what was given as one; `addresses` are those that its commands change. */
  remember(desk, addresses, id) {
    const key = performance.timeOrigin + performance.now();  // which no other decision has
    this.follow(desk, addresses, key);
    const past = [...this.trailOf(desk).past, {commands: addresses.length, id, key}].slice(-MOST_KEPT);
    this.keepTrail(desk, {past, future: []});
  }

  /** Keep in mind what is on its way from the desk, in its order. */
  follow(desk, addresses, key = 0) {
    if (desk === this.desk) this.given.push(...addresses.map((address) => ({address, key})));
  }

  /** Take off what the server did not record of what it has answered: refused, or there already. It cannot be taken back. */
  recount(desk, mentions) {
    const changed = new Set(mentions.map(({id}) => (id.startsWith('#') ? '#' : id)));
    const answered = this.given.splice(0, Math.max(0, this.given.length - desk.unsent));
    const vain = answered.filter(({address, key}) => key && !changed.has(address));
    if (!vain.length) return;
    const {past, future} = this.trailOf(desk);
    for (const {key} of vain) for (const one of [...past, ...future]) if (one.key === key) one.commands -= 1;
    const left = (some) => some.filter(({commands}) => commands > 0);
    this.keepTrail(desk, {past: left(past), future: left(future)});
  }

  history(op) {
    if (this.locked) return;
    const {desk} = this;
    const {past, future} = this.trailOf(desk);
    const [from, to] = op === 'undo' ? [past, future] : [future, past];
    const one = from.pop() ?? {commands: 1, id: ''};
    if (one.id) to.push(one);
    this.keepTrail(desk, {past, future});
    Object.assign(this, {awaited: one.commands, turned: false});
    for (let number = 0; number < one.commands; number += 1) desk.do(op);
    this.follow(desk, Array(one.commands).fill(''));
    if (this.conflicts.some(({id}) => id === one.id)) this.focusOn(one.id, {quiet: true});
  }

  tellDone(desk, {op, mentions}) {
    this.recount(desk, mentions);
    if (!['undo', 'redo'].includes(op)) return;
    this.awaited -= 1;
    this.turned ||= mentions.length > 0;
    if (this.awaited > 0) return;
    const word = op === 'undo' ? 'Undone' : 'Done again';
    toast(!this.turned ? `Nothing to ${op}` : this.conflict ? `${word}: ${this.describe(this.conflict)}` : word);
  }

  tellConflict(desk, command) {
    const again = () => {
      desk.again(command);
      if (['undo', 'redo'].includes(command.op)) this.follow(desk, ['']);
      else this.remember(desk, [addressOf(command)], '');
    };
    const action = {label: 'Take mine', run: again};
    toast('This was settled otherwise in another window: look at it again', {kind: 'bad', loud: true, action});
  }

  // --- the document ---------------------------------------------------------------------------------------------------

  reopen(desk = this.desk) { this.give(desk, [['reopen', {}]]); }

  async giveBack() {
    const {desk} = this;
    if (!desk || !this.found) return;
    if (desk.done) { this.nextDocument(); return; }
    if (this.locked) return;
    const left = this.open.length;
    const text = `${plural(left, 'conflict is', 'conflicts are')} not settled. There will be no mention, even where one came with the document.`;
    if (left && !await confirm('Some conflicts are open', text, 'Done all the same')) return;
    if (desk !== this.desk) return;
    this.give(desk, [['done', {anyway: true}]]);  // whoever was asked has said so
    try {
      await desk.saved();
      toast(`${desk.doc.ext_id} is settled`);
      if (desk === this.desk) await this.nextDocument();
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

/** Return what a command changes: a mention, comments, or the document. */
const addressOf = ({op, mention = ''}) => (op === 'comment' ? '#' : mention);

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
