// Search while somebody types: the best sure matches are asked for with each letter, what takes longer a moment later. What
// is shown stays where it is until the next letter; more is added below.

import {api, OfflineError, query} from './api.js';
import {sentence} from './forms.js';

const LATE_AFTER = 60;  // milliseconds after a letter
const LATE_FROM = 3;  // letters
const AGAIN_AFTER = 700;  // milliseconds, where an index is still being opened
const TRIES = 8;
const FIRST = 10;  // rows that are shown with each letter: as many as fit, so that they are there at once
const LIMITS = [20, 60, 200];  // rows a moment later, and when more are asked for

const pause = (time, signal) => new Promise((done) => {
  const timer = setTimeout(done, time);
  signal.addEventListener('abort', () => clearTimeout(timer), {once: true});
});

export class Lookup {
  /** `changed(anew)` is called when there is something else to show; `anew` where all rows are others. */
  constructor(changed) {
    this.changed = changed;
    this.stop();
    this.forget();
  }

  forget() {
    Object.assign(this, {rows: [], wanted: null, busy: false, problem: '', full: false, step: 0, ready: Promise.resolve()});
  }

  /** Ask for nothing any more. */
  stop() {
    this.asked?.abort();
    this.asked = null;
  }

  /** Show nothing. */
  clear() {
    this.stop();
    this.forget();
  }

  /** Look for something: `{kb, project, q, types, under, first}`. `ready` resolves when the sure matches are there. */
  ask(wanted) {
    this.stop();
    this.asked = new AbortController();
    const {signal} = this.asked;
    Object.assign(this, {wanted, busy: true, step: 0});
    this.ready = this.early(signal);
    this.late(signal);
  }

  /** Look for more of the same. */
  async more() {
    if (this.busy || !this.hasMore) return;
    this.step += 1;
    this.busy = true;
    this.changed(false);
    const {signal} = this.asked;
    const found = await this.fetch(this.long, LIMITS[this.step], signal);
    if (signal.aborted) return;
    this.busy = false;
    if (found) this.add(found);
    else this.changed(false);
  }

  get hasMore() { return this.full && this.step + 1 < LIMITS.length; }

  /** Whether there are letters enough for names that are similar alone. */
  get long() { return [...this.wanted.q.trim()].length >= LATE_FROM; }

  async fetch(late, limit, signal) {
    const {kb, ...wanted} = this.wanted;
    try {
      return await api.get(`/kb/${kb}/search${query({...wanted, limit, late})}`, {signal});
    } catch (error) {
      if (error.name === 'AbortError' || signal.aborted) return null;
      this.problem = error instanceof OfflineError ? 'No connection to the server: nothing can be searched now.'
        : sentence(error.detail || error.message);
      return null;
    }
  }

  async early(signal) {
    this.problem = '';
    const found = await this.fetch(false, FIRST, signal);
    if (signal.aborted) return;
    this.rows = found?.hits || [];
    this.full = false;
    this.changed(true);
  }

  async late(signal) {
    await Promise.all([this.ready, pause(LATE_AFTER, signal)]);
    let again = !this.problem && (this.long || this.rows.length >= FIRST);
    for (let tries = 0; again && tries < TRIES; tries += 1) {
      if (tries) await pause(AGAIN_AFTER, signal);
      const found = await this.fetch(this.long, LIMITS[0], signal);
      if (signal.aborted) return;
      again = this.add(found);
    }
    this.busy = false;
    this.changed(false);
  }

  /** Add what is not shown yet, below. Returns whether some of it can be asked for in a moment only. */
  add(found) {
    if (!found) return false;
    const shown = new Set(this.rows.map((one) => one.id));
    this.rows = [...this.rows, ...found.hits.filter((one) => !shown.has(one.id))];
    this.full = found.hits.length >= LIMITS[this.step];
    this.changed(false);
    return found.missing.length > 0;
  }
}
