// The events of a project as this browser has read them: kept while the page is open, since events never change.

import {api} from './api.js';

const PAGE = 1000;
const logs = new Map();  // by project

/** All events of a project that I may see, oldest first. */
class EventLog {
  constructor(project) {
    this.project = project;
    this.clear();
  }

  /** Forget what was read: more is to be seen, or less. */
  clear() { Object.assign(this, {events: [], last: 0, reading: null}); }

  /** Read what is new; `step(count)` hears of every page. One reading at a time. */
  read(step = () => {}) {
    this.reading ||= this.#pages(step).finally(() => { this.reading = null; });
    return this.reading;
  }

  async #pages(step) {
    const {events} = this;  // another list once it was cleared
    for (let more = true; more;) {
      const page = await api.get(`/projects/${this.project}/events?after=${this.last}&limit=${PAGE}`);
      if (events !== this.events) return;
      events.push(...page.events);
      this.last = events.at(-1)?.n ?? 0;
      more = page.next !== null;
      step(events.length);
    }
  }
}

/** Return the log of a project. */
export function logOf(project) {
  if (!logs.has(project)) logs.set(project, new EventLog(project));
  return logs.get(project);
}
