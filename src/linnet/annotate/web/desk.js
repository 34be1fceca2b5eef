// One assignment on the screen: its layers, what was decided, and the commands on their way to the server.
//
// A command acts on the screen at once. It is kept in this browser until the server has it, so that neither a lost
// connection nor a closed tab loses a decision; sent twice, it does nothing the second time. It is sent with the version
// that its person saw (`base`), however late: what others have changed since is a conflict, which a person settles.

import {api, ApiError, keepSession, OfflineError, uuid} from './api.js';
import {listen} from './events.js';
import {problem, projectOf, state, toast} from './base.js';
import {Offsets, wordsOf} from './text.js';

const BATCH = 50;
const LONGEST_WAIT = 15000, PATIENCE = 30000;  // milliseconds
const LATER = ['undo', 'redo', 'spread', 'split', 'done', 'reopen'];  // what only the server can work out
const FOR_GOOD = [400, 413, 422];  // answers that stay the same, however often one asks

const OUTBOX = 'linnet.outbox.';  // user.assignment.time.id: each command by itself, since tabs share what is kept
const keysOf = (start) => Object.keys(localStorage).filter((key) => key.startsWith(start)).sort();

/** Return the assignments of a person that commands are waiting for in this browser. */
export function waiting(user) {
  const start = `${OUTBOX}${user}.`;
  return [...new Set(keysOf(start).map((key) => Number(key.slice(start.length).split('.')[0])))];
}

let count = 0;  // of all commands, so that those of one millisecond keep their order

export class Desk extends EventTarget {
  #pending = [];  // {command, base, key}, in the order in which they were given
  #own = [];  // {command, seq}: what the server has, of which others may not know that they are not others'
  #sending = false;
  #single = false;  // one at a time, to see which one it is
  #renewed = false;
  #wait = 0;
  #timer = 0;
  #silence = () => {};
  #since = performance.now();
  #read = 0;
  #behind = 0;

  constructor(assignment) {
    super();
    this.id = assignment;
    this.owner = state.me.user;
    this.status = 'saved';
    this.why = '';  // something waits
    this.given = this.refused = 0;  // commands
    this.onScreen = false;
    this.seq = 0;
    this.gold = new Map();
    this.decided = new Map();
    this.pred = new Map();
    this.comments = [];
    this.retry = () => this.#send();
  }

  /** Read the assignment and its document; commands that were kept are sent. */
  async open() {
    this.onScreen = true;
    this.#silence = listen(state.project.project, (kind, data) => this.#hear(kind, data));  // before it is read: nothing is missed
    try {
      await this.#readAll(state.project.project);
    } catch (error) {
      this.close();
      throw error;
    }
    addEventListener('online', this.retry);
    if (this.#pending.length) this.#send();
    return this;
  }

  /** Send what was kept in this browser, of an assignment that is not on the screen. What needs its person stays kept. */
  async flush() {
    await this.#readAll();
    await this.#send();
  }

  async #readAll(project) {
    await this.reload();
    this.doc = await api.get(`/projects/${project ?? this.project}/documents/${this.document}`);
    this.offsets = new Offsets(this.doc.text);
    this.words = wordsOf(this.offsets);
    const start = `${OUTBOX}${this.owner}.${this.id}.`;
    this.#pending = keysOf(start).map((key) => ({...JSON.parse(localStorage.getItem(key)), key}));
  }

  /** Stop listening; what waits is still sent. */
  close() {
    this.#silence();
    removeEventListener('online', this.retry);
  }

  get text() { return this.doc.text; }
  /** Whether the document was given back. */
  get done() { return this.state === 'done'; }
  /** Whether suggestions are hidden until the document was given back. */
  get bare() { return !this.suggestions && !this.done; }
  /** How many commands the server does not have yet. */
  get unsent() { return this.#pending.length; }

  /** Read again what stands on the server. */
  async reload() {
    const asked = ++this.#read;
    const found = await api.get(`/assignments/${this.id}`);
    if (asked !== this.#read) return;
    if (found.seq < this.seq && this.#behind++ < 3) { this.#soon(); return; }  // it was on its way while a command was done
    this.#behind = 0;
    for (const name of ['project', 'document', 'kind', 'state', 'seq', 'suggestions', 'run', 'model', 'user', 'comments']) this[name] = found[name];
    this.gold = byId(found.gold);
    this.pred = byId(found.pred);
    this.decided = byId(found.decided);
    this.#tell('change');
  }

  // --- what is shown ------------------------------------------------------------------------------------------------

  /** All mentions that stand or wait for a decision, in reading order. */
  get mentions() {
    const decided = this.#now();
    const found = [];
    for (const [id, mark] of decided) if (mark.state === 'live') found.push(this.#decidedOne(id, mark));
    for (const id of this.#open(decided)) found.push({...this.pred.get(id), id, layer: 'pred', decided: false, open: true});
    const said = new Set(found.map((one) => JSON.stringify(one.parts)));
    for (const [id, mark] of this.gold) {  // one without a concept gives way to what says what it means
      const gone = decided.has(id) || (mark.concepts === null && said.has(JSON.stringify(mark.parts)));
      if (!gone) found.push({...mark, id, layer: 'gold', decided: false, open: false});
    }
    return found.sort((a, b) => a.parts[0][0] - b.parts[0][0] || b.parts.at(-1)[1] - a.parts.at(-1)[1] || (a.id < b.id ? -1 : 1));
  }

  /** What was ruled out, newest last. */
  get rejected() {
    return [...this.#now()].filter(([, mark]) => mark.state !== 'live').map(([id, mark]) => ({...mark, id}));
  }

  mention(id) { return this.mentions.find((one) => one.id === id); }
  surface(mention) { return mention.parts.map((part) => this.offsets.slice(...part)).join(' … '); }

  #decidedOne(id, mark) {
    const pred = this.pred.get(id);
    return {...mark, id, layer: mark.source === 'gold' ? 'gold' : 'user', decided: true, open: false, candidates: pred?.candidates, p: pred?.p};
  }

  #open(decided) {
    const said = (mark) => JSON.stringify([mark.parts, mark.concepts]);
    const out = new Set(), taken = new Set();
    for (const mark of decided.values()) (mark.state === 'live' ? taken.add(JSON.stringify(mark.parts)) : out.add(said(mark)));
    for (const [id, mark] of this.gold) if (!decided.has(id)) out.add(said(mark));
    return [...this.pred].filter(([id, mark]) => !decided.has(id) && !out.has(said(mark)) && !taken.has(JSON.stringify(mark.parts))).map(([id]) => id);
  }

  /** What was decided, with the commands that the server does not have yet. */
  #now() {
    if (!this.#pending.length) return this.decided;
    const made = new Map(this.decided);
    for (const {command} of this.#pending) this.#apply(made, command);
    return made;
  }

  #apply(made, command) {
    const {op, mention} = command;
    const there = made.get(mention) || this.gold.get(mention) || this.pred.get(mention);
    const blank = {parts: command.parts, types: [], concepts: null, alternatives: [], nil: '', unsure: false};
    if (op === 'create') made.set(command.mention, {...blank, ...picked(command), source: 'user', state: 'live'});
    if (!there) return;
    const live = (more) => made.set(mention, {...there, source: 'user', state: 'live', ...more});
    if (op === 'accept') live({unsure: false, source: this.gold.has(mention) ? 'gold' : 'user'});
    else if (op === 'link') live({concepts: command.concepts, nil: command.nil || '', unsure: false, ...(command.types ? {types: command.types} : {})});
    else if (op === 'move') live({parts: command.parts});
    else if (op === 'type') live({types: command.types});
    else if (op === 'unsure') live({unsure: command.unsure ?? true});
    else if (op === 'reject' || op === 'delete') made.set(mention, {...there, state: 'rejected'});
  }

  // --- commands -----------------------------------------------------------------------------------------------------

  /** Give a command; `fields` are those of the API. Returns its id. */
  do(op, fields = {}) {
    const id = uuid();
    this.given += 1;
    const ms = Math.round(Math.min(performance.now() - this.#since, 600000));
    this.#since = performance.now();
    const command = {id, op, ms, kb: projectOf(this.project).kb_version, ...fields};
    if (op === 'create') command.mention ??= `m:${id}`;
    const pred = this.pred.get(fields.mention);
    command.seen = {run: this.run, ...(pred ? {pred: pred.pred} : {})};
    if (fields.shown) command.seen.shown = fields.shown;
    delete command.shown;
    const time = `${String(Date.now()).padStart(15, '0')}-${String(count++).padStart(6, '0')}`;
    this.#keep({command, base: this.seq, key: `${OUTBOX}${this.owner}.${this.id}.${time}.${id}`});
    this.#tell('change');
    this.#send();
    return command.mention || id;
  }

  #keep(one) {
    this.#pending.push(one);
    this.#store(one);
  }

  #store({command, base, key}) { localStorage.setItem(key, JSON.stringify({command, base})); }

  #forget(some) {
    this.#pending = this.#pending.filter((one) => !some.includes(one));
    for (const {key} of some) localStorage.removeItem(key);
  }

  /** Return how many mentions a command would change. */
  preview(op, fields) {
    return api.post(`/assignments/${this.id}/preview`, {id: uuid(), op, ...fields}).then((found) => found.changes);
  }

  /** Resolve when the server has all commands; reject if it cannot be asked, or has refused one. */
  saved() {
    const before = this.refused;
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.#pending.length && this.status !== 'waiting') return;
        this.removeEventListener('status', look);
        if (this.#pending.length || this.refused > before) reject(new OfflineError()); else resolve();
      };
      this.addEventListener('status', look);
      look();
    });
  }

  async #send() {
    if (this.#sending || !this.#pending.length) return;
    clearTimeout(this.#timer);
    this.#sending = true;
    this.#become('saving');
    let goes = true;
    while (goes && this.#pending.length) {
      const batch = this.#batch();
      try {
        this.#take(await this.#post(batch), batch);
        this.#single = this.#renewed = false;
        this.#wait = 0;
      } catch (error) {
        goes = await this.#failed(error, batch);
      }
    }
    this.#sending = false;
    if (!this.#pending.length) this.#become('saved');
  }

  /** Return what is sent next: commands that were given on the same version. */
  #batch() {
    const [{base, command}] = this.#pending;
    const most = this.#single || this.#wait || LATER.includes(command.op) ? 1 : BATCH;
    const other = this.#pending.findIndex((one) => one.base !== base);
    return this.#pending.slice(0, other < 0 ? most : Math.min(most, other));
  }

  /** Send commands, with those of one's own that the server has since their version: sent again, they count as known. */
  #post(batch) {
    const [{base}] = batch;
    const known = this.#own.filter((one) => one.seq > base).slice(-BATCH);
    const commands = [...known, ...batch].map(({command}) => this.#whole(command));
    const options = {headers: {'If-Match': `"${base}"`}, signal: AbortSignal.timeout?.(PATIENCE)};
    return api.post(`/assignments/${this.id}/commands`, {commands}, options);
  }

  /** Return a command with the words that it is about: these are not kept in the browser. */
  #whole(command) {
    if (!command.parts || command.surface !== undefined) return command;
    return {...command, surface: command.parts.map((part) => this.offsets.slice(...part)).join(' ')};
  }

  #take(answer, batch) {
    if (!Array.isArray(answer?.mentions)) throw new OfflineError();  // somebody between has answered
    this.#forget(batch);
    const before = Math.max(0, ...this.#own.map(({seq}) => seq));
    const mentions = answer.mentions.filter(({seq}) => seq > before);  // the others are answers to what was sent along
    for (const {id, seq, value} of mentions) {
      if (id === '') this.state = value?.state || 'open';
      else if (value === null) this.decided.delete(id);
      else if (value.parts) this.decided.set(id, {...value, id, seq});
    }
    this.#raise(answer, batch);
    const op = batch.at(-1).command.op;
    if (answer.rebased || batch.some(({command}) => ['comment', 'undo', 'redo'].includes(command.op))) this.reload().catch(() => {});
    this.#tell('change');
    this.#tell('done', {op, mentions});
  }

  /** What waits was given with these commands on the screen; where others came between, the server is to know which are whose. */
  #raise({seq, rebased}, batch) {
    const [{base}] = batch;
    this.#own = [...this.#own, ...batch.map(({command}) => ({command, seq}))].slice(-BATCH);
    if (rebased) return;
    this.seq = Math.max(this.seq, seq);
    for (const one of this.#pending) if (one.base === base && seq > base) { one.base = seq; this.#store(one); }
  }

  /** Deal with what went wrong; returns whether to go on at once. Nothing is dropped but what can never be done. */
  async #failed(error, batch) {
    const conflict = error.type === 'conflict', unsettled = error.type === 'unsettled';
    if (error.type === 'csrf' && !this.#renewed && await this.#renew()) return true;
    if (!(error instanceof ApiError) || !(conflict || unsettled || FOR_GOOD.includes(error.status))) { this.#defer(error); return false; }
    if (batch.length > 1) { this.#single = true; return true; }
    if (!this.onScreen) {
      this.#become('waiting');
      toast(`Decisions of yours in “${this.doc.ext_id}” could not be saved as they are: open the document to settle it`, {kind: 'bad'});
      return false;
    }
    const [{command}] = batch;
    this.refused += 1;
    this.#forget(batch);
    this.#tell('change');
    await this.reload().catch(() => {});
    if (conflict) this.#tell('conflict', {command, ...error.more});
    else problem(error);
    return true;
  }

  /** Keep what waits, say why, and try again later. */
  #defer(error) {
    if (!(error instanceof ApiError || error instanceof OfflineError)) console.error(error);
    this.why = reasonOf(error);
    this.#become('waiting');
    if (error.status === 401) return;
    this.#wait = Math.min(LONGEST_WAIT, (this.#wait || 500) * 2);
    this.#timer = setTimeout(this.retry, this.#wait);
  }

  /** Take over the session that another tab has begun, if it is the same person's. */
  async #renew() {
    this.#renewed = true;
    const me = await api.get('/me').catch(() => null);
    if (me?.user !== this.owner) return false;
    keepSession(me);
    return true;
  }

  /** Give a command again that was in conflict, now that its sender has seen what others did. */
  again(command) {
    const {id, mention, ...fields} = command;
    return this.do(command.op, mention === `m:${id}` ? fields : {...fields, mention});
  }

  #hear(kind, data) {
    if (kind === 'reset' || kind === 'prediction') this.#soon();
    else if (['mention', 'assignment', 'comment'].includes(kind) && (data.assignment ?? data.stream) === this.id && (data.seq || 0) > this.seq) this.#soon();
  }

  #soon() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => (this.#sending ? this.#soon() : this.reload().catch(() => {})), 300);
  }

  #become(status) {
    this.status = status;
    this.#tell('status', status);
  }

  #tell(kind, detail) { this.dispatchEvent(new CustomEvent(kind, {detail})); }
}

/** Return why something waits, in a few words. */
function reasonOf(error) {
  if (error.status === 401) return 'sign in again';
  if (error.type === 'csrf') return 'somebody else has signed in: load the page again';
  if (!(error instanceof ApiError) || error.status > 500) return 'no connection';
  return error.detail || `the server answers ${error.status}`;
}

const byId = (found) => new Map(found.map((one) => [one.id, one]));
const picked = ({types, concepts, alternatives, nil}) => Object.fromEntries(
  Object.entries({types, concepts, alternatives, nil}).filter(([, value]) => value !== undefined));
