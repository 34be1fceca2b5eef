// Screen of one document: mentions, text, candidates. Everything can be done by keys (keys.js) and by pointer.

import {acceptOver, askLayers, askType, comment, LAYERS, settle} from './annotate_dialogs.js';
import {split, spread, spreadOverQueue} from './annotate_many.js';
import {CONTEXTS, drawBar, drawCandidates, drawList, key, statusText} from './annotate_panels.js';
import {api, OfflineError} from './api.js';
import {
  classMap, confirm, entitle, go, html, nothing, plural, problem, remembered, say, state, toast, View,
} from './base.js';
import {Caret} from './caret.js';
import {Desk} from './desk.js';
import {sentence} from './forms.js';
import {keysOf, shown} from './keys.js';
import {learn, nameOf} from './names.js';
import {TextView} from './text.js';
import {askNil} from './picker.js';
import {assignmentsOf} from './project_queue.js';

class Annotate extends View {
  static properties = {project: {}, assignment: {}, at: {state: true}, found: {state: true}, mode: {state: true}, tick: {state: true}, failed: {state: true}};

  constructor() {
    super();
    Object.assign(this, {at: '', found: null, mode: '', choice: null, card: '', failed: '', filter: 'all', mentions: [], layers: new Set(Object.keys(LAYERS)), queue: []});
  }

  willUpdate(changed) {
    if (changed.has('assignment') && this.assignment) this.begin();
    this.held = this.contains(document.activeElement);
  }

  /** Where what had the focus is drawn no more, the text has it: not the page, which has no keys. */
  updated() {
    if (this.held && document.activeElement === document.body) this.textBox?.focus({preventScroll: true});
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.desk?.close();
    this.asking?.abort();
    Caret.clear();
  }

  connectedCallback() {
    super.connectedCallback();
    this.keys(this.actions());
    this.on(window, 'keyup', (event) => { if (keysOf('hide').includes(event.key)) this.letGo(); });
    this.on(window, 'blur', () => this.letGo());  // the key is let go elsewhere
    this.on(document, 'selectionchange', () => this.hearSelection());
  }

  /** Show the marks again that were hidden while a key was held; hidden by the palette, they stay so until it is asked again. */
  letGo() { if (this.holding) this.textBox?.classList.remove('hide-marks'); }

  // --- opening ------------------------------------------------------------------------------------------------------

  async begin() {
    this.desk?.close();
    this.endSearch();
    Object.assign(this, {desk: null, view: null, at: '', found: null, choice: null, mode: '', card: '', failed: '', before: 0, overQueue: null});
    const id = this.assignment;
    try {
      const desk = await new Desk(id).open();
      if (id !== this.assignment || !this.isConnected) { desk.close(); return; }
      this.desk = desk;
      await this.show(desk);
    } catch (error) {
      if (id !== this.assignment || error.status === 401) return;
      const lost = 'There is no connection to the server.';
      this.failed = error instanceof OfflineError ? lost : error.status ? sentence(error.detail || error.message) : error.message;
      if (!error.status) problem(error);
    }
  }

  /** Draw a document that was opened; what another one says later is not about the one on the screen. */
  async show(desk) {
    remembered.set(`last.${this.project}`, this.assignment);
    entitle(desk.doc.ext_id, this.its.name);
    const heard = (kind, run) => desk.addEventListener(kind, ({detail}) => { if (desk === this.desk && this.isConnected) run(detail); });
    heard('change', () => this.refresh());
    heard('status', (status) => this.tellStatus(status));
    heard('done', (done) => this.tellDone(desk, done));
    desk.addEventListener('conflict', ({detail}) => settle(this, desk, detail));
    this.refresh();
    await this.updateComplete;
    this.view = new TextView(this.textBox, desk.offsets);
    this.caret = new Caret(this.view, desk);
    this.refresh();
    this.focusOn((this.mentions.find((one) => this.waits(one)) || this.mentions[0])?.id || '', {quiet: true});
    this.textBox.focus({preventScroll: true});
    this.readQueue();
  }

  /** Read what there is to do; returns whether it could be read. */
  async readQueue() {
    const found = await assignmentsOf(this.project).catch(() => null);
    if (found) this.queue = found.filter((one) => one.kind === 'annotate' || one.kind === 'shared');
    this.requestUpdate();
    return Boolean(found);
  }

  get textBox() { return this.querySelector('.text'); }
  get kb() { return this.its.kb_version; }
  get mention() { return this.mentions.find((one) => one.id === this.at) || null; }
  get showP() { return remembered.get('show-p', true); }
  waits(one) { return one.open || (one.layer === 'gold' && !one.decided) || (one.layer === 'user' && one.concepts === null && !!this.kb); }

  /** Take over what stands on the desk; what has the focus keeps it. */
  refresh() {
    const place = this.mentions.findIndex((one) => one.id === this.at), before = this.mentions[place];
    this.mentions = this.desk.mentions.filter((one) => this.layers.has(one.layer));
    if (this.at && !this.mention) this.replace(before, place);
    this.view?.draw(this.mentions, {showP: this.showP});
    this.view?.focus(this.at, {scroll: false});
    learn(this.kb, this.project, this.mentions.flatMap((one) => one.concepts || []).slice(0, 400)).then((news) => news && this.requestUpdate());
    this.tick = (this.tick || 0) + 1;
  }

  /** The mention with the focus is gone: the same words keep it, else the next mention has it, with candidates of its own. */
  replace(before, place) {
    const same = before && this.mentions.find((one) => String(one.parts) === String(before.parts));
    this.at = (same ?? this.mentions[Math.min(Math.max(place, 0), this.mentions.length - 1)])?.id || '';
    this.found = null;
    this.card = '';
    if (this.searching && !same && !this.choice) {
      this.endSearch();
      toast('The mention that you searched a concept for is gone');
    }
    this.offer();
  }

  // --- moving -------------------------------------------------------------------------------------------------------

  focusOn(id, {quiet = false, scroll = true} = {}) {
    this.leaveModes();
    this.at = id;
    this.found = null;
    this.card = '';
    this.choice = null;
    Caret.choose([]);
    const mark = this.view?.focus(id, {scroll});
    const mention = this.mention;
    if (mention && this.caret) this.caret.to(mention.parts[0][0]);
    if (mark === undefined && mention && scroll) this.view?.focus(id);
    this.showRow(id);
    this.offer();
    if (!quiet && mention) this.speak(mention);
  }

  /** Scroll the list of mentions, and nothing else: on small screens it stands below the text. */
  showRow(id) {
    const row = this.querySelector(`#o-${CSS.escape(id)}`), list = row?.parentElement;
    if (!list) return;
    const above = row.offsetTop - list.offsetTop, below = above + row.offsetHeight - list.clientHeight;
    list.scrollTop = Math.min(above, Math.max(below, list.scrollTop));
  }

  /** Say what the mention is; once more where the names of its concepts come only then. */
  speak({id, concepts}) {
    const tell = () => {
      const place = this.mentions.findIndex((one) => one.id === id);
      if (place >= 0) say(`${place + 1} of ${this.mentions.length}, ${this.describe(this.mentions[place])}`);
    };
    tell();
    learn(this.kb, this.project, concepts || []).then((news) => news && this.at === id && tell());
  }

  describe(mention) {
    const layer = {gold: 'gold', user: 'user', pred: 'predicted'}[mention.layer];
    const told = mention.layer === 'pred' && mention.p != null && this.showP;
    const p = told ? `, ${mention.calibration ? '' : 'about '}${percent(mention.p)} percent${mention.calibration ? '' : ', not calibrated'}` : '';
    const more = mention.unsure ? ', unsure' : mention.decided && !this.waits(mention) ? ', decided' : '';
    return `${this.desk.surface(mention)}, ${layer}, ${this.meaning(mention)}${p}${more}`;
  }

  meaning(mention) {
    if (mention.concepts === null) return 'not linked';
    if (!mention.concepts.length) return `NIL${mention.nil ? `: ${mention.nil}` : ''}`;
    return mention.concepts.map((id) => nameOf(this.kb, id)).join(' + ');
  }

  step(by, fits = () => true) {
    const size = this.mentions.length;
    const from = this.mentions.findIndex((one) => one.id === this.at);
    for (let count = 1; count <= size; count += 1) {
      const next = this.mentions[(((from < 0 && by < 0 ? 0 : from) + by * count) % size + size) % size];
      if (fits(next)) { this.focusOn(next.id); return true; }
    }
    say('No mention waits for a decision');
    return true;
  }

  nextOpen(by = 1) {
    const others = this.mentions.some((one) => one.id !== this.at && this.waits(one));
    if (others) this.step(by, (one) => this.waits(one) && one.id !== this.at);
    else say('All mentions are decided');
  }

  under() {
    const mention = this.mention;
    if (!mention) return;
    const [start, end] = [mention.parts[0][0], mention.parts.at(-1)[1]];
    const there = this.mentions.filter((one) => one.parts[0][0] < end && start < one.parts.at(-1)[1])
      .sort((a, b) => (a.parts.at(-1)[1] - a.parts[0][0]) - (b.parts.at(-1)[1] - b.parts[0][0]));
    this.focusOn(there[(there.indexOf(mention) + 1) % there.length].id);
  }

  // --- candidates ---------------------------------------------------------------------------------------------------

  /** Show what the mention, or what is selected, may mean: what came with a prediction at once, else asked for. */
  async offer() {
    this.asking?.abort();
    const mention = this.mention;
    const parts = this.choice || mention?.parts;
    if (!parts || !this.kb) return;
    const ready = !this.choice && mention.candidates?.ids?.length ? mention.candidates : null;
    if (ready) {
      this.found = {candidates: ready.ids.slice(0, 9).map((id, number) => ({id, score: ready.scores[number]})), used: [], p: mention.p};
    } else {
      this.asking = new AbortController();
      try {
        const body = {document: this.desk.document, parts, types: mention && !this.choice ? mention.types : [], limit: 9};
        const found = await api.post(`/projects/${this.project}/candidates`, body, {signal: this.asking.signal});
        this.found = {...found, candidates: found.candidates.filter((one) => one.id !== null)};
      } catch (error) {
        if (error.name !== 'AbortError') { this.found = {candidates: [], used: [], problem: error.detail || error.message}; }
        return;
      }
    }
    learn(this.kb, this.project, this.rows().map((one) => one.id)).then((news) => news && this.requestUpdate());
    if (this.choice) say(`${plural(this.rows().length, 'candidate')}`);
  }

  /** Concepts that digits choose: those chosen for the same words first, then what the model offers. */
  rows() {
    if (!this.found) return [];
    const used = this.found.used.map((one) => ({...one, used: one.count}));
    const taken = new Set(used.map((one) => one.id));
    return [...used.slice(0, 3), ...this.found.candidates.filter((one) => !taken.has(one.id))].slice(0, 9);
  }

  // --- deciding -----------------------------------------------------------------------------------------------------

  get locked() {
    const {desk} = this;
    if (desk?.done) { toast('The document is done: reopen it to change something', {action: {label: 'Reopen', run: () => desk.do('reopen')}}); return true; }
    if (this.desk && this.desk.user !== null && this.desk.user !== state.me.user) { toast('This is somebody else’s work: it can be read alone'); return true; }
    return !this.desk;
  }

  /** Whether words are selected; an act on a mention is refused then, which would not be the one that somebody looks at. */
  get selecting() {
    if (this.choice) toast('Words are selected: Enter marks them, a digit, / or 0 links them, Escape drops the selection');
    return Boolean(this.choice);
  }

  decide(op, fields = {}, {stay = false} = {}) {
    if (!this.mention || this.locked || this.selecting) return;
    const {id} = this.mention;
    const place = this.mentions.indexOf(this.mention);
    const behind = [...this.mentions.slice(place + 1), ...this.mentions.slice(0, place)].map((one) => one.id);
    this.desk.do(op, {mention: id, ...fields});
    if (stay) { this.found = null; this.offer(); if (this.mention) this.speak(this.mention); return; }
    const next = behind.map((one) => this.mentions.find((other) => other.id === one)).find((one) => one && this.waits(one));
    if (next) this.focusOn(next.id); else say('All mentions are decided');
  }

  unsure() {
    if (!this.choice) { this.decide('unsure', {unsure: !this.mention?.unsure}); return; }
    if (this.create()) this.decide('unsure', {unsure: true}, {stay: true});
  }

  choose(number) {
    const row = this.rows()[number - 1];
    if (row) this.link([row.id]);
  }

  link(concepts) {
    if (this.locked) return;
    const offered = this.rows().map((one) => one.id);
    if (this.choice) { this.create({concepts}); this.nextOpen(); return; }
    if (!this.mention) return;
    const same = this.mention.layer === 'pred' && JSON.stringify(this.mention.concepts) === JSON.stringify(concepts);
    this.decide(same ? 'accept' : 'link', same ? {shown: offered} : {concepts, shown: offered});
  }

  nil(reason) {
    if (this.choice) this.create({concepts: [], nil: reason});
    else this.decide('link', {concepts: [], nil: reason});
  }

  async askNil() {
    if (this.locked || (!this.mention && !this.choice)) return;
    const {desk, at, choice} = this;
    const reason = await askNil();
    if (!reason || desk !== this.desk) return;
    if (at !== this.at || choice !== this.choice) toast('What this was about has changed meanwhile: nothing was decided');
    else this.nil(reason);
    this.textBox.focus({preventScroll: true});
  }

  /** Mentions of this document that its reader wants to come back to: a note to oneself, which stays in the browser. */
  get bookmarks() { return remembered.get(`bookmarks.${this.assignment}`, []); }

  bookmark() {
    if (!this.mention) return;
    const {id} = this.mention, others = this.bookmarks.filter((one) => one !== id), is = others.length < this.bookmarks.length;
    remembered.set(`bookmarks.${this.assignment}`, is ? others : [...others, id]);
    say(is ? 'No bookmark any more' : 'Bookmarked');
    this.requestUpdate();
  }

  // --- new mentions, edges, parts -----------------------------------------------------------------------------------

  hearSelection() {
    if (!this.view || this.mode) return;
    clearTimeout(this.idle);
    this.idle = setTimeout(() => this.takeSelection(), this.dragging ? 0 : 350);
  }

  takeSelection() {
    if (!this.view || this.dragging) return;
    const stretch = this.view.selection();
    if (!stretch) return;
    const part = this.fit(...stretch);
    getSelection().removeAllRanges();
    if (!part) return;
    this.selected = true;
    this.pick(this.adding && this.choice ? merged([...this.choice, part]) : [part]);
  }

  /** Have these parts selected. */
  pick(parts) {
    this.choice = parts;
    Caret.choose(parts.map(([start, end]) => this.view.rangeOf(start, end)));
    this.found = null;
    this.offer();
    this.requestUpdate();
  }

  fit(start, end) { return this.caret.fit(start, end, {snap: remembered.get('snap', true) && !this.exact}); }

  create(fields = {}) {
    const parts = this.choice || this.caret?.selected();
    if (!parts || this.locked) return false;
    const there = this.mentions.find((one) => JSON.stringify(one.parts) === JSON.stringify(parts));
    if (there) {  // the same words are marked already: that mention is meant
      this.caret.drop();
      this.focusOn(there.id);
      if (fields.concepts) this.decide('link', fields, {stay: true});
      return true;
    }
    const offered = this.rows().map((one) => one.id);
    const id = this.desk.do('create', {parts, ...fields, ...(offered.length ? {shown: offered} : {})});
    this.caret.drop();
    this.focusOn(id, {quiet: Boolean(fields.concepts)});
    return true;
  }

  /** Enter: keep edges; mark what is selected; select the word of the caret; or take the first candidate of what was just marked. */
  enter() {
    if (this.mode === 'edges') { this.keepEdges(); return undefined; }
    if (this.choice || this.caret?.selected()) { this.create(); return undefined; }
    if (this.caret?.shown) { this.extend(1); return undefined; }
    if (this.mention && this.mention.concepts === null) { this.choose(1); return undefined; }
    return false;
  }

  startEdges() {
    if (!this.mention || this.locked || this.selecting) return;
    this.mode = 'edges';
    this.edges = {parts: this.mention.parts.map((part) => [...part]), characters: false};
    this.showEdges();
    say('Edges: arrows move the right edge, with Shift the left edge; c for characters; Enter keeps, Escape cancels');
  }

  moveEdge(by, left) {
    const {parts, characters} = this.edges;
    const part = left ? parts[0] : parts.at(-1);
    const place = left ? 0 : 1;
    const next = characters ? part[place] + by : this.caret.edge(part[place], by, left);
    if (next < 0 || next > this.desk.offsets.length || (left ? next >= part[1] : next <= part[0])) return;
    part[place] = next;
    this.showEdges();
    say(parts.map((one) => this.desk.offsets.slice(...one)).join(' … '));
  }

  showEdges() { Caret.choose(this.edges.parts.map(([start, end]) => this.view.rangeOf(start, end))); this.requestUpdate(); }

  keepEdges() {
    const {parts} = this.edges;
    this.leaveModes();
    this.decide('move', {parts}, {stay: true});
  }

  leaveModes() {
    if (!this.mode) return;
    this.mode = '';
    this.edges = null;
    this.caret?.endFind();
    Caret.choose([]);
  }

  fragment() {
    const mention = this.mention;
    const stretch = this.choice?.[0] || this.caret?.selected()?.[0];
    if (!mention || this.locked) return;
    if (!stretch) { toast('Select the words of the part first, then press the key'); return; }
    const inside = mention.parts.filter(([start, end]) => start >= stretch[0] && end <= stretch[1]);
    const parts = inside.length ? mention.parts.filter((one) => !inside.includes(one)) : merged([...mention.parts, stretch]);
    if (!parts.length) { toast('A mention has one part at least'); return; }
    this.choice = null;
    this.caret.drop();
    Caret.choose([]);
    this.decide('move', {parts}, {stay: true});
  }

  // --- many at once, history, document ------------------------------------------------------------------------------

  history(op) {
    const {desk} = this;
    if (!desk || (desk.user !== null && desk.user !== state.me.user && this.locked)) return;
    if (op === 'undo' && this.overQueue?.given === desk.given) { this.overQueue.undo(); this.overQueue = null; }
    else if (op === 'undo' && this.before && this.over === desk.given) go(`#/p/${this.project}/a/${this.before}`);
    else desk.do(op);
  }

  /** Say what came back of an undo, or of an act on many mentions. */
  tellDone(desk, {op, mentions}) {
    const changed = mentions.filter((one) => one.id !== '' && !one.id.startsWith('#'));
    if (['undo', 'redo'].includes(op)) {
      const word = op === 'undo' ? 'Undone' : 'Done again';
      const first = this.mentions.find((one) => one.id === changed[0]?.id);
      if (!mentions.length) this.nothingLeft(op);
      else if (!changed.length) toast(`${word}: the document is ${desk.done ? 'done' : 'open again'}`);
      else toast(`${word}: ${changed.length > 1 ? plural(changed.length, 'mention') : first ? `${this.desk.surface(first)}, ${this.meaning(first)}` : 'the mention is gone'}`);
      if (first) this.focusOn(first.id, {quiet: true});
    } else if (op === 'split') {
      const pieces = this.mentions.filter((one) => changed.some(({id}) => id === one.id));
      toast(`Split: ${pieces.map((one) => desk.surface(one)).join(' + ')}`, {action: {label: 'Undo', run: () => desk.do('undo')}});
      if (pieces.length) this.focusOn(pieces[0].id, {quiet: true});
    } else if (['spread', 'accept_over'].includes(op)) {
      const {given} = desk;
      const undo = () => { if (desk.given === given) desk.do('undo'); else toast(`More was decided in “${desk.doc.ext_id}” since: undo it there, step by step`); };
      toast(plural(changed.length, 'mention changed', 'mentions changed'), {action: {label: 'Undo', run: undo}});
    }
  }

  /** Undo goes on in the document before: the same key once more goes there. */
  nothingLeft(op) {
    const others = remembered.get(`trail.${this.project}`, []).filter((one) => one !== this.assignment);
    this.before = op === 'undo' ? others.at(-1) : 0;
    this.over = this.desk.given;
    toast(`Nothing to ${op} in this document${this.before ? `: ${shown(keysOf('undo')[0] ?? 'Undo')} again goes to the document before` : ''}`);
  }

  async giveBack() {
    const {desk} = this;
    if (!desk || this.giving) return;
    if (desk.done) { this.nextDocument(1); return; }
    if (this.locked) return;
    this.giving = true;
    await this.finish(desk);
    this.giving = false;
  }

  async finish(desk) {
    const open = this.mentions.filter((one) => this.waits(one)).length;
    if (open && !await confirm('Some mentions are undecided', `${plural(open, 'mention waits', 'mentions wait')} for a decision. They will count neither as right nor as wrong.`, 'Done all the same')) return;
    if (desk !== this.desk) return;
    desk.do('done');
    remembered.set(`trail.${this.project}`, [...remembered.get(`trail.${this.project}`, []).filter((one) => one !== this.assignment), this.assignment].slice(-50));
    const saved = await desk.saved().then(() => true, () => false);
    if (desk !== this.desk) return;
    if (!saved && desk.unsent) toast('The document is done as soon as there is a connection; stay here, or go on by the queue');
    if (!saved) return;
    if (await this.readQueue()) this.nextDocument(1, (one) => one.state !== 'done');
    else toast('Saved. What comes next could not be read: there is no connection');
  }

  nextDocument(by, fits = () => true) {
    const from = this.queue.findIndex((one) => one.assignment === this.assignment);
    const ahead = by > 0 ? [...this.queue.slice(from + 1), ...this.queue.slice(0, Math.max(from, 0))] : this.queue.slice(0, Math.max(from, 0)).reverse();
    const next = ahead.find(fits);
    if (next) { go(`#/p/${this.project}/a/${next.assignment}`); return; }
    toast('The queue is done: get more documents here');
    go(`#/p/${this.project}`);
  }

  tellStatus(status) {
    this.requestUpdate();
    if (status === 'waiting' && this.told !== 'waiting') say(`${this.desk.why}: your decisions are kept here and will be sent`, true);
    if (status === 'saved' && this.told === 'waiting') say('All decisions are saved');
    this.told = status;
  }

  actions() {
    const ready = (run) => (...args) => (this.desk && this.view ? run(...args) : false);
    const moving = (run, edge) => ready((...args) => (this.mode === 'edges' ? edge() : run(...args)));
    const told = {
      'next-open': () => this.nextOpen(1), 'previous-open': () => this.nextOpen(-1),
      next: () => this.step(1), previous: () => this.step(-1),
      first: () => this.focusOn(this.mentions[0]?.id || ''), last: () => this.focusOn(this.mentions.at(-1)?.id || ''),
      under: () => this.under(),
      accept: () => (this.choice ? this.create() : this.decide('accept', {shown: this.rows().map((one) => one.id)})),
      reject: () => this.decide('reject'), delete: () => this.decide('delete'),
      choose: (event, key) => this.choose(Number(key)), nil: () => this.askNil(),
      unsure: () => this.unsure(),
      skip: () => this.nextOpen(), type: () => this.selecting || askType(this), comment: () => (this.mode === 'edges' ? this.switchUnit() : this.selecting || comment(this)),
      details: () => { this.card = this.card ? '' : (this.mention?.concepts?.[0] || this.rows()[0]?.id || ''); this.requestUpdate(); if (this.card) this.bring('linnet-card'); },
      bookmark: () => this.bookmark(), search: () => this.search(), edges: () => this.startEdges(), fragment: () => this.fragment(), create: () => this.enter(),
      find: () => { this.mode = 'find'; this.caret.find(() => { this.mode = ''; }); }, split: () => split(this), spread: () => spread(this), 'spread-queue': () => spreadOverQueue(this), 'accept-over': () => acceptOver(this),
      undo: () => this.history('undo'), redo: () => this.history('redo'), done: () => { this.giveBack(); },
      'next-document': () => this.nextDocument(1), 'previous-document': () => this.nextDocument(-1),
      layers: () => { askLayers(this); }, hide: (event) => { this.holding = event.isTrusted; this.textBox.classList[this.holding ? 'add' : 'toggle']('hide-marks'); },
      'sentence-down': () => { this.unselect(); this.caret.sentence(1); }, 'sentence-up': () => { this.unselect(); this.caret.sentence(-1); }, back: () => this.back(),
    };
    return {
      ...Object.fromEntries(Object.entries(told).map(([id, run]) => [id, ready(run)])),
      'word-right': moving(() => { this.unselect(); this.caret.step(1); }, () => this.moveEdge(1, false)),
      'word-left': moving(() => { this.unselect(); this.caret.step(-1); }, () => this.moveEdge(-1, false)),
      'extend-right': moving(() => this.extend(1), () => this.moveEdge(1, true)),
      'extend-left': moving(() => this.extend(-1), () => this.moveEdge(-1, true)),
    };
  }

  switchUnit() {
    this.edges.characters = !this.edges.characters;
    say(this.edges.characters ? 'By characters' : 'By words');
    this.requestUpdate();
  }

  /** Select a word more: what is selected is what acts are about, and its candidates are shown a moment later. */
  extend(by) {
    this.caret.step(by, {extend: true});
    this.choice = this.caret.selected();
    this.found = null;
    Caret.choose([]);
    clearTimeout(this.idle);
    this.idle = setTimeout(() => { if (this.choice) this.offer(); }, 350);
    this.requestUpdate();
  }

  /** Drop what is selected; candidates are again those of the mention with the focus. */
  unselect() {
    if (!this.choice && !this.caret.selected()) return;
    this.choice = null;
    this.found = null;
    this.caret.drop();
    Caret.choose([]);
    this.offer();
    this.requestUpdate();
  }

  back() {
    if (this.searching) { this.endSearch(); return undefined; }
    if (this.mode) { this.leaveModes(); return undefined; }
    if (this.choice || this.caret.selected()) { this.unselect(); return undefined; }
    if (this.card) { this.card = ''; this.requestUpdate(); return undefined; }
    return false;
  }

  search() {
    if (!this.kb) { toast('This project has no knowledge base to search in'); return; }
    if (!this.mention && !this.choice) return;
    this.searching = true;
    this.requestUpdate();
    this.bring('.side-panel');
  }

  /** Scroll something into sight once it is drawn: on small screens panels stand below each other. */
  bring(what) { this.updateComplete.then(() => this.querySelector(what)?.scrollIntoView({block: 'nearest', behavior: 'instant'})); }


  endSearch() {
    if (!this.searching) return;
    this.searching = false;
    this.requestUpdate();
    this.textBox?.focus({preventScroll: true});
    this.bring('mark.focused');
  }

  // --- pointer ------------------------------------------------------------------------------------------------------

  press(event) {
    this.dragging = true;
    this.selected = false;
    this.adding = event.ctrlKey || event.metaKey;
    this.exact = event.altKey;
    const stop = () => {
      this.dragging = false;
      for (const kind of ['pointerup', 'pointercancel']) removeEventListener(kind, stop);
      this.takeSelection();
    };
    for (const kind of ['pointerup', 'pointercancel']) addEventListener(kind, stop);
  }

  click(event) {
    if (this.selected) { this.selected = false; return; }  // it ends the drag that has just selected something
    const place = document.caretPositionFromPoint?.(event.clientX, event.clientY);
    const point = place && this.view.pointOf(place.offsetNode, place.offset);
    if (event.shiftKey && this.choice && point != null) {  // what was dragged before: the browser's own selection is gone
      const [start, end] = this.choice.at(-1);
      this.pick(merged([...this.choice.slice(0, -1), this.fit(Math.min(start, point), Math.max(end, point))]));
      return;
    }
    const mark = event.target.closest('mark');
    if (!mark) {
      if (point != null) { this.unselect(); this.caret.to(point); this.caret.show(); }
      return;
    }
    const ids = mark.dataset.ids.split(' ');
    this.focusOn(ids[(ids.indexOf(this.at) + 1) % ids.length] || ids[0], {scroll: false});
  }

  // --- drawing ------------------------------------------------------------------------------------------------------

  render() {
    if (this.failed) {
      return html`<h1>The document cannot be opened</h1><p role="alert">${this.failed}</p>
        <p class="row"><button class="main" @click=${() => this.begin()}>Try again</button> <a href=${`#/p/${this.project}`}>Back to the project</a></p>`;
    }
    if (!this.desk) return html`<p class="waiting" role="status">Opening the document…</p>`;
    const {desk, mentions} = this;
    const decided = mentions.filter((one) => !this.waits(one)).length;
    const place = this.queue.findIndex((one) => one.assignment === this.assignment) + 1;
    return html`
      <div class="bar">
        <h1>${desk.doc.ext_id}</h1>
        ${place ? html`<span>${place} of ${this.queue.length}</span>` : nothing}
        <span class="row"><progress max=${mentions.length || 1} value=${decided} aria-label="Mentions decided"></progress> ${decided} of ${mentions.length} decided</span>
        <span class=${classMap({status: true, warn: desk.status === 'waiting'})}>${statusText(desk)}</span>
        ${this.its.blind ? html`<span class="chip" title="Nobody sees the other’s work before both are done">blind</span>` : nothing}
        ${desk.done ? html`<span class="chip good">done</span>` : nothing}
        <span class="grow"></span>
        <button @click=${() => dispatchEvent(new CustomEvent('linnet-guidelines'))}>Guidelines</button>
        <button @click=${() => askLayers(this)}>Layers</button>
        ${desk.done && desk.user === state.me.user ? html`<button @click=${() => desk.do('reopen')}>Reopen</button>` : nothing}
        <button class="main" @click=${() => this.giveBack()}>${desk.done ? 'Next document' : 'Done'} ${key('done')}</button>
      </div>
      <div class="three-panels">
        ${drawList(this)}
        <section class="panel text-panel" aria-label="Text" data-keys=${CONTEXTS}>
          <div class="text" tabindex="0" role="group" aria-label="Text of ${desk.doc.ext_id}" lang="und" data-panel data-keys=${CONTEXTS}
            @pointerdown=${this.press} @click=${this.click}></div>
        </section>
        ${drawCandidates(this)}
      </div>
      ${this.searching ? nothing : drawBar(this)}`;
  }

  commentsOn({id}) { return this.desk.comments.filter((one) => one.mention === id); }
}

const percent = (p) => Math.min(99, Math.floor(p * 100 + 1e-4));  // the server keeps .94 as .9399999976

/** Return parts in order, those that touch as one. */
function merged(parts) {
  const made = [];
  for (const [start, end] of [...parts].sort((a, b) => a[0] - b[0])) {
    if (made.length && start <= made.at(-1)[1]) made.at(-1)[1] = Math.max(made.at(-1)[1], end);
    else made.push([start, end]);
  }
  return made;
}

customElements.define('linnet-annotate', Annotate);
