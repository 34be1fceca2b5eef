// How far a project is: what is read, and for those who lead it how many errors may be left.

import {api} from './api.js';
import {count, html, leads, nothing, plural, share, View} from './base.js';

const STATES = ['open', 'reopened', 'done'];
const WIDTH = 280, HEIGHT = 34, PAD = 8;

class Progress extends View {
  static properties = {project: {type: Number}, found: {state: true}, left: {state: true}, busy: {state: true}};

  constructor() {
    super();
    this.found = this.left = null;
    this.busy = false;
  }

  connectedCallback() {
    super.connectedCallback();
    this.refresh();
    if (leads()) this.estimate();
  }

  async refresh() {
    const found = await this.tell(() => api.get(`/projects/${this.project}/progress`));
    if (found) this.found = found;
  }

  /** Ask for the errors left; that takes long in a large project. */
  async estimate() {
    this.busy = true;
    const left = await this.tell(() => api.get(`/projects/${this.project}/stopping`));
    if (left) this.left = left;
    this.busy = false;
  }

  bar(label, id, done, of, said = plural(of, 'document')) {
    return html`<div class="meter"><label for=${id}>${label} <span class="grow"></span><span>${count(done)} of ${said} done</span></label>
      <progress id=${id} max=${Math.max(1, of)} value=${Math.min(of, done)}></progress></div>`;
  }

  bars() {
    if (!this.found) return html`<p role="status">Counting…</p>`;
    const {documents, mine, seen} = this.found;
    if (!documents) return html`<p class="note">There are no documents yet.</p>`;
    const total = (of) => STATES.reduce((sum, one) => sum + (of[one] || 0), 0);
    const many = this.its.settings.annotators;
    const blind = this.its.blind && this.its.members.length > 1;
    const said = many > 1 ? `${count(documents * many)} readings` : plural(documents, 'document');
    return html`${total(mine) ? this.bar('Mine', 'progress-mine', mine.done || 0, total(mine)) : nothing}
      ${this.bar('All', 'progress-all', seen.done || 0, documents * many, said)}
      <p class="note">${many > 1 ? `Each document is to be read by ${many} people.` : ''}
        ${blind ? 'What others are reading now does not count here: the project is blind.' : ''}</p>`;
  }

  errorsLeft() {
    if (!leads() || !this.found?.documents) return nothing;
    return html`<h3>Errors left in unread documents</h3>
      ${this.left ? this.estimated(this.left) : html`<p role="status">${this.busy ? 'Estimating…' : 'Not known.'}</p>`}
      <button @click=${() => this.estimate()} aria-disabled=${this.busy}>${this.busy ? 'Estimating…' : 'Estimate again'}</button>`;
  }

  estimated({errors_left: left, unread, signals}) {
    if (unread === 0) return html`<p class="note">Every document is read, or somebody has it: none is left to estimate for.</p>`;
    if (!left) {
      return html`<p class="note">Not known yet. It takes suggestions for the documents, and some documents read that were drawn by chance:
        a fifth of what people get is.</p>${signalList(signals)}`;
    }
    const {value, low, high, random} = left;
    const known = low !== null && high !== null;
    return html`<p>${known ? html`<strong class="left-figure">${atLeast(value)}</strong>` : html`Perhaps ${atLeast(value)}`}
        ${known ? html`<span>(95 %: ${count(Math.max(0, Math.round(low)))} to ${count(Math.max(0, Math.round(high)))})</span>` : nothing}
        <span class="note">in ${plural(unread, 'document')}</span></p>
      ${known ? interval(left) : nothing}
      <p class="note">${known ? '' : 'How far this may be off is not known yet. '}From ${plural(random, 'document')} that
        ${random === 1 ? 'was' : 'were'} drawn by chance and read${random < 24 ? '; more of them make it more precise' : ''}.</p>
      ${signalList(signals)}`;
  }

  render() {
    return html`<section class="panel" data-panel tabindex="-1" aria-label="Progress">
      <header><h2>Progress</h2></header>${this.bars()} ${this.errorsLeft()}</section>`;
  }
}

/** Draw an estimate with its interval. */
function interval({value, low, high}) {
  const most = Math.max(high, 1), at = (one) => PAD + (Math.max(0, one) / most) * (WIDTH - 2 * PAD);
  const y = HEIGHT / 2 - 4;
  return html`<svg class="left-interval" viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true">
    <line x1=${PAD} x2=${WIDTH - PAD} y1=${y} y2=${y} class="axis"></line>
    <line x1=${at(low)} x2=${at(high)} y1=${y} y2=${y} class="range"></line>
    <circle cx=${at(value)} cy=${y} r="6" class="point"></circle>
    <text x=${PAD} y=${HEIGHT - 2}>0</text>
    <text x=${WIDTH - PAD} y=${HEIGHT - 2} text-anchor="end">${count(Math.round(most))}</text></svg>`;
}

/** Return an estimate for people: what is not 0 is not told as 0. */
const atLeast = (value) => (value > 0 && value < 1 ? 'fewer than 1' : count(Math.max(0, Math.round(value))));
const fine = (value) => Number(value).toFixed(3).replace(/^(-?)0\./, '$1.');

const SIGNALS = {
  'errors left': ({value, limit}) => `At most ${share(Math.max(0, value))} errors a mention are left; below ${share(limit)} is usually enough.`,
  'stable predictions': ({value, limit}) => `The last models agree with κ ${share(value)}; from ${share(limit)} on, three steps running, labels teach little.`,
  'expected gain': ({value, limit}) => `Another hour is expected to bring ${fine(value)} in the score; below ${fine(limit)} is little.`,
};

/** Draw what speaks for reading on or stopping. */
function signalList(signals) {
  const known = signals.filter((one) => one.value !== null && SIGNALS[one.name]);
  if (!known.length) return nothing;
  return html`<ul class="left-signals">${known.map((one) => html`<li class=${one.reached ? 'good' : ''}>
    <span aria-hidden="true">${one.reached ? '✓' : ''}</span> ${SIGNALS[one.name](one)}${one.reached ? ' Reached.' : ''}</li>`)}</ul>
    <p class="note">Nothing stops by itself: these are hints.</p>`;
}

customElements.define('linnet-project-progress', Progress);
