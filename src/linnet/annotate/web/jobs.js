// Long work of a project: how far it is, what came of it, or why it failed and what helps.

import {api} from './api.js';
import {confirm, count, html, leads, nothing, plural, repeat, say, share, toast, View, when} from './base.js';

/** What a training may teach, in words. */
export const PARTS = {both: 'finding and linking', ner: 'finding mentions', linker: 'linking'};
const ENDED = ['succeeded', 'failed', 'cancelled'];
const WAITING = 20_000;  // milliseconds after which somebody may wonder why nothing begins
const AGAIN = 2_000;  // milliseconds between two readings of a job that is not over: its log and what is left are not in events

/** Return short names of models by id: m1 is the oldest. `models` are newest first, as the server lists them. */
export const named = (models) => new Map(models.map((one, at) => [one.id, `m${models.length - at}`]));

/** Return seconds as people say them. */
export function duration(seconds) {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Return what went wrong as a sentence, without the names of fields. */
export const sentence = (text) => text.replace(/^(train|predict): (\w+: )?/, '').replace(/^./, (first) => first.toUpperCase());

const lastLine = (log) => log.trimEnd().split('\n').pop().replace(/^\d\d:\d\d:\d\d /, '');
const isOver = (job) => ENDED.includes(job.state);

/** The work of a project. Tells `linnet-ended` when a job is over. */
class Jobs extends View {
  static properties = {project: {type: Number}, models: {attribute: false}, jobs: {state: true}};
  #scores = new Map();  // job → {now, before}: the last two scores that differ
  #told = new Set();  // jobs whose end was told: an event and a look may both see it, in either order
  #clock = 0;

  constructor() {
    super();
    this.models = [];
    this.jobs = null;
  }

  connectedCallback() {
    super.connectedCallback();
    this.load();
    this.listen((kind, data) => this.hear(kind, data));
    this.#clock = setInterval(() => this.follow(), AGAIN);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.#clock);
  }

  async load() {
    const found = await this.tell(() => api.get(`/projects/${this.project}/jobs`));
    if (!found) return;
    if (!this.jobs) this.#told = new Set(found.filter(isOver).map((job) => job.id));  // of what ended before, nothing is told
    this.jobs = found;
    for (const job of found.filter(isOver)) this.tellEnd(job);
  }

  hear(kind, data) {
    if (kind === 'reset') this.load();
    if (kind !== 'job' || !this.jobs || data.gone) return;
    const {job: id, ...news} = data;
    const job = this.jobs.find((one) => one.id === id);
    const turned = job?.state !== news.state;
    if (job) this.put({...job, ...news});
    if (turned) this.read(id);
  }

  /** Read what waits or runs again, while somebody looks. */
  follow() {
    if (document.hidden || !this.jobs) return;
    for (const job of this.jobs) if (!isOver(job)) this.read(job.id);
  }

  /** Read a job with its log and what is left. */
  async read(id) {
    const job = await api.get(`/jobs/${id}`).catch(() => null);  // the next event or look asks again
    if (!job) return;
    this.put(job);
    if (isOver(job)) this.tellEnd(job);
  }

  tellEnd(job) {
    if (this.#told.has(job.id)) return;
    this.#told.add(job.id);
    say(`${this.heading(job)}: ${this.outcome(job)}`);
    this.dispatchEvent(new CustomEvent('linnet-ended', {detail: job, bubbles: true}));
  }

  /** Show a job as it is now, a new one first. */
  put(job) {
    const {now = null, before = null} = this.#scores.get(job.id) ?? {};
    if (job.score !== null && job.score !== now) this.#scores.set(job.id, {now: job.score, before: now ?? before});
    const there = this.jobs.some((one) => one.id === job.id);
    this.jobs = there ? this.jobs.map((one) => (one.id === job.id ? job : one)) : [job, ...this.jobs];
  }

  async predict() {
    const job = await this.tell(() => api.post(`/projects/${this.project}/jobs`, {kind: 'predict', args: {}}));
    if (!job) return;
    this.put(job);
    say('Suggestions for all documents are asked for');
  }

  async cancel(job) {
    const text = job.kind === 'train' ? 'What it has learned so far is lost. Models and decisions stay as they are.'
      : 'What is done so far stays, the rest is left.';
    if (job.state === 'running' && !(await confirm(`Cancel job ${job.id}?`, text, 'Cancel the job'))) return;
    const found = await this.tell(() => api.post(`/jobs/${job.id}/cancel`));
    if (!found) return;
    this.put(found);
    await this.updateComplete;
    this.querySelector('.panel').focus();  // the button is gone
    toast(found.state === 'cancelled' ? `Job ${job.id} is cancelled` : `Job ${job.id} is being cancelled`);
  }

  // --- in words -------------------------------------------------------------------------------------------------------

  name(id) { return named(this.models).get(id) ?? id; }

  /** Return a log with the short names of models. */
  plain(text) { return text.replace(/\bm[0-9a-f]{12}\b/g, (id) => this.name(id)); }

  heading({kind, args}) {
    if (kind === 'train') return `Training: ${PARTS[args.parts]}`;
    if (kind === 'export') return `Export: ${args.format}`;
    return args.model ? `Suggestions by ${this.name(args.model)}` : 'Suggestions';
  }

  /** Say what came of a job that is over. */
  outcome({kind, state: now, result, log_tail: log}) {
    if (now === 'cancelled') return 'cancelled';
    if (now === 'failed') return log ? sentence(this.plain(lastLine(log))) : 'A curator can read why.';
    if (kind === 'predict' && result) return suggested(result);
    return kind === 'train' && result ? this.learned(result) : 'done';
  }

  learned({model, value, used, worse}) {
    const figure = value === null ? '' : `, score ${share(value)}`;
    const end = used ? 'in use now' : worse ? 'kept, but not used: it is worse than what is in use' : 'kept, not in use';
    return `${this.name(model)}${figure}: ${end}`;
  }

  /** Say why a job that waits does so. */
  waits(job) {
    const first = this.jobs.find((one) => one.state === 'running');
    if (first) return `Waits for job ${first.id} to end.`;
    if (job.attempt) return `It failed and is tried again soon (attempt ${job.attempt + 1}).`;
    return Date.now() - new Date(job.made) < WAITING ? 'Waits for a worker.'
      : 'No worker has taken it yet: all are busy with other projects, or none runs. “linnet worker” starts one.';
  }

  figures({id, step, of, loss, score, result, attempt}) {
    const {now, before = null} = this.#scores.get(id) ?? {};
    const change = before === null ? '' : ` (${now < before ? '−' : '+'}${share(Math.abs(now - before))})`;
    return [
      result?.part && `part ${result.part}`, of > 1 && `step ${count(step)} of ${count(of)}`,
      loss !== null && `loss ${share(loss)}`, score !== null && `score ${share(score)}${change}`,
      result?.seconds_left > 0 && `about ${duration(result.seconds_left)} left`, attempt > 1 && `attempt ${attempt}`,
    ].filter(Boolean).join(' · ');
  }

  // --- drawing --------------------------------------------------------------------------------------------------------

  render() {
    if (!this.jobs) return html`<p class="note" role="status">Reading…</p>`;
    const open = this.jobs.filter((job) => !isOver(job)).reverse();
    const over = this.jobs.filter(isOver);
    return html`<section class="panel" data-panel tabindex="-1" aria-label="Work in progress">
      <header><h2>Work in progress</h2>
        ${leads() ? html`<button @click=${() => this.predict()}>Suggest in all documents</button>` : nothing}</header>
      ${open.length ? html`<ul class="jobs">${repeat(open, (job) => job.id, (job) => this.item(job))}</ul>`
        : html`<p class="note">Nothing is running.</p>`}
      ${over.filter((job) => isSore(job, over)).slice(0, 1).map((job) => this.failure(job))}
      ${over.length ? html`<details class="more"><summary>Earlier work (${count(over.length)})</summary>
        <ul class="jobs">${repeat(over, (job) => job.id, (job) => this.earlier(job))}</ul></details>` : nothing}
    </section>`;
  }

  item(job) {
    const {id, step, of, cancel, args} = job;
    const waiting = job.state === 'queued';
    return html`<li>
      <div class="row"><strong>${this.heading(job)}</strong>
        <span class="chip">${cancel ? 'stopping' : waiting ? 'waiting' : 'running'}</span>
        <small>job ${id}${args.recipe ? `, recipe ${args.recipe}` : ''}</small><span class="grow"></span>
        ${leads() && !cancel ? html`<button @click=${() => this.cancel(job)} aria-label=${`Cancel job ${id}`}>Cancel</button>`
          : nothing}</div>
      ${waiting ? html`<p>${this.waits(job)}</p>` : html`
        <progress aria-label=${this.heading(job)} max=${of > 1 ? of : nothing} value=${of > 1 ? Math.min(step, of) : nothing}></progress>
        <p class="figures">${this.figures(job)}</p>
        ${job.log_tail ? html`<p class="note">Now: ${this.plain(lastLine(job.log_tail))}</p>` : nothing}`}
      ${this.log(job)}</li>`;
  }

  failure(job) {
    return html`<div class="failed">
      <p><strong class="bad">${this.heading(job)} failed</strong> <small>job ${job.id}, ${when(job.ended)}</small></p>
      <p>${this.outcome(job)}</p>${this.log(job)}</div>`;
  }

  earlier(job) {
    const file = job.kind === 'export' && job.result?.file;
    return html`<li>
      <div class="row"><strong>${this.heading(job)}</strong>
        <span class=${job.state === 'failed' ? 'chip bad' : 'chip'}>${job.state}</span>
        <small>job ${job.id}, ${when(job.ended ?? job.made)}</small></div>
      <p>${this.outcome(job)} ${file ? html`<a href=${api.url(`/jobs/${job.id}/file`)} download>Download</a>` : nothing}</p>
      ${this.log(job)}</li>`;
  }

  log({id, log_tail: log}) {
    return log ? html`<details class="more"><summary>Log of job ${id}</summary>
      <pre class="log scroll" tabindex="0" aria-label=${`Log of job ${id}`}>${this.plain(log)}</pre></details>` : nothing;
  }
}

/** Return whether a job failed and none of its kind has ended well since. */
const isSore = (job, over) => job.state === 'failed' &&
  !over.some((one) => one.id > job.id && one.kind === job.kind && one.state === 'succeeded');

function suggested({documents, skipped}) {
  const done = documents ? `${plural(documents, 'new document')} with suggestions` : 'all documents have suggestions';
  return skipped ? `${done}; ${plural(skipped, 'document')} without mentions to link` : done;
}

customElements.define('linnet-jobs', Jobs);
