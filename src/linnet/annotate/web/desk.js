// One assignment on the screen: its layers, what was decided, and the commands on their way to the server.
//
// A command acts on the screen at once. It is kept in this browser until the server has it, so that neither a lost
// connection nor a closed tab loses a decision; sent twice, it does nothing the second time.

import {api, ApiError, OfflineError} from './api.js';
import {listen} from './events.js';
import {problem, state} from './base.js';
import {Offsets, wordsOf} from './text.js';

const BATCH = 50;
const LONGEST_WAIT = 15000;
const LATER = ['undo', 'redo', 'spread', 'done', 'reopen'];  // what only the server can work out

const keyOf = (user, assignment) => `linnet.outbox.${user}.${assignment}`;

/** Return the assignments of a person that commands are waiting for in this browser. */
export function waiting(user) {
  const start = keyOf(user, '');
  return Object.keys(localStorage).filter((key) => key.startsWith(start)).map((key) => Number(key.slice(start.length)));
}

export class Desk extends EventTarget {
  #pending = [];
  #sending = false;
  #wait = 0;
  #timer = 0;
  #silence = () => {};
  #since = performance.now();
  #read = 0;

  constructor(assignment) {
    super();
    this.id = assignment;
    this.owner = state.me.user;
    this.status = 'saved';
    this.seq = 0;
    this.gold = new Map();
    this.decided = new Map();
    this.pred = new Map();
    this.comments = [];
    this.retry = () => this.#send();
  }

  /** Read the assignment and its document; commands that were kept are sent. */
  async open() {
    const kept = JSON.parse(localStorage.getItem(this.#key) || '[]');
    await this.reload();
    this.doc = await api.get(`/projects/${state.project.project}/documents/${this.document}`);
    this.offsets = new Offsets(this.doc.text);
    this.words = wordsOf(this.offsets);
    this.#pending = kept;
    addEventListener('online', this.retry);
    this.#silence = listen(state.project.project, (kind, data) => this.#hear(kind, data));
    if (kept.length) this.#send();
    return this;
  }

  /** Send what was kept in this browser, of an assignment that is not on the screen. */
  async flush() {
    this.#pending = JSON.parse(localStorage.getItem(this.#key) || '[]');
    await this.reload();
    await this.#send();
  }

  /** Stop listening; what waits is still sent. */
  close() {
    this.#silence();
    removeEventListener('online', this.retry);
  }

  get #key() { return keyOf(this.owner, this.id); }
  get text() { return this.doc.text; }
  /** Whether the document was given back. */
  get done() { return this.state === 'done'; }
  /** How many commands the server does not have yet. */
  get unsent() { return this.#pending.length; }

  /** Read again what stands on the server. */
  async reload() {
    const asked = ++this.#read;
    const found = await api.get(`/assignments/${this.id}`);
    if (asked !== this.#read) return;
    for (const name of ['document', 'kind', 'state', 'seq', 'run', 'model', 'user', 'comments']) this[name] = found[name];
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
    for (const [id, mark] of this.gold) if (!decided.has(id)) found.push({...mark, id, layer: 'gold', decided: false, open: false});
    for (const [id, mark] of decided) if (mark.state === 'live') found.push(this.#decidedOne(id, mark));
    for (const id of this.#open(decided)) found.push({...this.pred.get(id), id, layer: 'pred', decided: false, open: true});
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
    for (const command of this.#pending) this.#apply(made, command);
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
    const id = crypto.randomUUID();
    const ms = Math.round(Math.min(performance.now() - this.#since, 600000));
    this.#since = performance.now();
    const command = {id, op, ms, kb: state.project.kb_version, ...fields};
    if (op === 'create') command.mention ??= `m:${id}`;
    const pred = this.pred.get(fields.mention);
    command.seen = {run: this.run, ...(pred ? {pred: pred.pred} : {})};
    if (fields.shown) command.seen.shown = fields.shown;
    delete command.shown;
    this.#pending.push(command);
    this.#keep();
    this.#tell('change');
    this.#send();
    return command.mention || id;
  }

  /** Return how many mentions a command would change. */
  preview(op, fields) {
    return api.post(`/assignments/${this.id}/preview`, {id: crypto.randomUUID(), op, ...fields}).then((found) => found.changes);
  }

  /** Resolve when the server has all commands; reject if it cannot be asked. */
  saved() {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.#pending.length && this.status !== 'waiting') return;
        this.removeEventListener('status', look);
        if (this.#pending.length) reject(new OfflineError()); else resolve();
      };
      this.addEventListener('status', look);
      look();
    });
  }

  #keep() {
    if (this.#pending.length) localStorage.setItem(this.#key, JSON.stringify(this.#pending));
    else localStorage.removeItem(this.#key);
  }

  async #send() {
    if (this.#sending || !this.#pending.length) return;
    clearTimeout(this.#timer);
    this.#sending = true;
    this.#become('saving');
    while (this.#pending.length) {
      const batch = this.#pending.slice(0, this.#wait || LATER.includes(this.#pending[0].op) ? 1 : BATCH);
      try {
        this.#take(await api.post(`/assignments/${this.id}/commands`, {commands: batch}, {headers: {'If-Match': `"${this.seq}"`}}), batch);
        this.#wait = 0;
      } catch (error) {
        if (!await this.#failed(error, batch)) break;
      }
    }
    this.#sending = false;
    if (!this.#pending.length) this.#become('saved');
  }

  #take(answer, batch) {
    const sent = new Set(batch.map((one) => one.id));
    this.#pending = this.#pending.filter((one) => !sent.has(one.id));
    this.#keep();
    this.seq = Math.max(this.seq, answer.seq);
    for (const {id, seq, value} of answer.mentions) {
      if (id === '') this.state = value?.state || 'open';
      else if (value === null) this.decided.delete(id);
      else if (value.parts) this.decided.set(id, {...value, id, seq});
    }
    const op = batch.at(-1).op;
    if (answer.rebased || op === 'comment') this.reload().catch(() => {});
    this.#tell('change');
    this.#tell('done', {op, mentions: answer.mentions});
  }

  /** Deal with what went wrong; returns whether to go on at once. */
  async #failed(error, batch) {
    if (error instanceof OfflineError || [429, 502, 503, 504].includes(error.status)) {
      this.#become('waiting');
      this.#wait = Math.min(LONGEST_WAIT, (this.#wait || 500) * 2);
      this.#timer = setTimeout(this.retry, this.#wait);
      return false;
    }
    if (error.status === 401) { this.#become('waiting'); return false; }
    if (batch.length > 1) { this.#wait = 1; return true; }  // one at a time, to see which one it is
    this.#drop(batch[0]);
    if (!(error instanceof ApiError)) { problem(error); return true; }
    await this.reload().catch(() => {});
    if (error.type === 'conflict') this.#tell('conflict', {command: batch[0], ...error.more});
    else problem(error);
    return true;
  }

  #drop(command) {
    this.#pending = this.#pending.filter((one) => one.id !== command.id);
    this.#keep();
    this.#tell('change');
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

const byId = (found) => new Map(found.map((one) => [one.id, one]));
const picked = ({types, concepts, alternatives, nil}) => Object.fromEntries(
  Object.entries({types, concepts, alternatives, nil}).filter(([, value]) => value !== undefined));
