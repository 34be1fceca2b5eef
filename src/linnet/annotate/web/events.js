// What happens in a project, as the server tells it: one connection a browser, shared by its tabs.

import {api} from './api.js';

const KINDS = ['mention', 'assignment', 'document', 'comment', 'prediction', 'job', 'model', 'member', 'reset'];
let channel = null, release = null, project = 0;
const listeners = new Set();

function tell(kind, data) {
  for (const run of listeners) run(kind, data);
}

/** Listen to a project; `run(kind, data)` hears of everything. Returns what ends it. */
export function listen(id, run) {
  listeners.add(run);
  if (project !== id) connect(id);
  return () => {
    listeners.delete(run);
    setTimeout(() => { if (!listeners.size) disconnect(); });
  };
}

function connect(id) {
  disconnect();
  project = id;
  channel = new BroadcastChannel(`linnet-events-${id}`);
  channel.onmessage = ({data}) => tell(data.kind, data.data);
  const own = channel;
  // the tab that holds the lock has the connection: browsers open few to one server
  navigator.locks.request(`linnet-events-${id}`, () => new Promise((done) => {
    if (channel !== own) { done(); return; }
    const source = new EventSource(api.url(`/projects/${id}/stream`));
    for (const kind of KINDS) {
      source.addEventListener(kind, ({data}) => {
        const found = JSON.parse(data);
        tell(kind, found);
        own.postMessage({kind, data: found});
      });
    }
    release = () => { source.close(); done(); };
  }));
}

function disconnect() {
  release?.();
  channel?.close();
  release = channel = null;
  project = 0;
}
