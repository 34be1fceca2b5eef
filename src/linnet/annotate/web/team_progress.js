// How far each person is, and how long decisions take.

import {count, html, View} from './base.js';
import {barChart} from './charts.js';
import {logOf} from './log.js';
import {allAssignments, personOf, stageOf} from './works.js';

const PARTS = ['done', 'begun', 'not begun'];
const AT_ONCE = 5000;  // events that are read without being asked for
const COLUMNS = ['Decisions', 'Seconds each (median)', 'Documents done', 'Minutes each (mean)', 'Hours in all'];
const NO_DECISION = ['done', 'reopen', 'undo', 'redo', 'comment', 'agreed'];

const middle = (values) => {
  const found = [...values].sort((a, b) => a - b), half = found.length >> 1;
  return found.length % 2 ? found[half] : (found[half - 1] + found[half]) / 2;
};

/** Return what the log tells of each person's speed, by name: `{decisions, seconds, minutes, documents}`. */
export function speeds(events) {
  const found = new Map();
  for (const {actor, kind, assignment, ms, after} of events) {
    if (assignment === null || kind === 'agreed') continue;
    if (!found.has(actor)) found.set(actor, {times: [], spent: new Map(), done: new Set()});
    const own = found.get(actor);
    own.spent.set(assignment, (own.spent.get(assignment) ?? 0) + (ms ?? 0));
    if (kind === 'done') own.done.add(assignment);
    else if (ms && after && !NO_DECISION.includes(kind)) own.times.push(ms / 1000);
  }
  return new Map([...found].map(([name, {times, spent, done}]) => [name, {
    decisions: times.length, seconds: times.length ? middle(times) : null, documents: done.size,
    minutes: done.size ? [...done].reduce((sum, one) => sum + spent.get(one), 0) / done.size / 60000 : null,
    hours: [...spent.values()].reduce((sum, one) => sum + one, 0) / 3600000,
  }]));
}

class TeamProgress extends View {
  static properties = {project: {type: Number}, work: {state: true}, speed: {state: true}, read: {state: true}};

  constructor() {
    super();
    this.work = this.speed = this.read = null;
  }

  connectedCallback() {
    super.connectedCallback();
    this.reload(['assignment', 'member', 'reset'], () => this.load());
    this.load();
  }

  async load() {
    const found = await this.tell(() => allAssignments(this.project));
    if (!found) return;
    this.work = found.filter((one) => one.kind !== 'adjudicate');
    const events = found.reduce((sum, one) => sum + one.seq, 0);
    if (events <= AT_ONCE || this.speed) await this.measure();
  }

  /** Read the log and work out how long people take. */
  async measure() {
    const log = logOf(this.project);
    await this.tell(() => log.read((read) => { this.read = read; }));
    this.speed = speeds(log.events);
    this.read = null;
  }

  get bars() {
    const found = new Map();
    for (const one of this.work) {
      if (!found.has(one.user)) found.set(one.user, [0, 0, 0]);
      const stage = stageOf(one);
      found.get(one.user)[PARTS.indexOf(stage === 'reopened' ? 'begun' : stage)] += 1;
    }
    for (const {user, role} of this.its.members) if (role === 'annotator' && !found.has(user)) found.set(user, [0, 0, 0]);
    const total = (values) => values.reduce((sum, one) => sum + one, 0);
    return [...found].map(([user, values]) => ({name: personOf(user), values, text: `${values[0]} of ${total(values)} done`}))
      .sort((a, b) => a.name.localeCompare(b.name));
  }

  render() {
    if (!this.work) return html`<p role="status">Reading…</p>`;
    const {bars} = this;
    const about = bars.map(({name, text}) => `${name}: ${text}`).join('; ');
    const data = {title: 'Documents of each person', about, bars, parts: PARTS};
    return html`<section class="panel"><header><h2>Progress of each person</h2></header>
        ${bars.length ? html`<linnet-chart .of=${barChart} .data=${data}></linnet-chart>` : html`<p>Nobody has a document yet.</p>`}
      </section>
      <section class="panel"><header><h2>Speed</h2></header>${this.drawSpeed()}</section>`;
  }

  drawSpeed() {
    if (this.read !== null) return html`<p role="status">Reading the event log: ${count(this.read)} events…</p>`;
    if (!this.speed) return html`<p>The event log says how long people take.</p><button @click=${this.measure}>Work it out</button>`;
    const rows = [...this.speed].filter(([, one]) => one.decisions).sort(([a], [b]) => a.localeCompare(b));
    if (!rows.length) return html`<p>No decision was timed yet.</p>`;
    return html`<p class="note">Measured from one decision to the next, pauses of more than ten minutes cut short. Documents differ in
        length: compare people only who have read the same.</p>
      <div class="scroll" tabindex="0" role="region" aria-label="Speed of each person"><table>
        <thead><tr><th scope="col">Person</th>${COLUMNS.map((one) => html`<th scope="col" class="number">${one}</th>`)}</tr></thead>
        <tbody>${rows.map(([name, one]) => html`<tr><th scope="row">${name}</th><td class="number">${count(one.decisions)}</td>
          <td class="number">${one.seconds.toFixed(1)}</td><td class="number">${count(one.documents)}</td>
          <td class="number">${one.minutes?.toFixed(1) ?? '–'}</td><td class="number">${one.hours.toFixed(1)}</td></tr>`)}
        </tbody></table></div>`;
  }
}

customElements.define('linnet-team-progress', TeamProgress);
