// What happens in a project, as the server tells it: one connection a browser, shared by its tabs.

import {api} from './api.js';

const KINDS = ['mention', 'assignment', 'document', 'comment', 'prediction', 'job', 'model', 'member', 'reset'];
const SOON = 1000, LATE = 30_000;  // milliseconds until another attempt
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
  const share = navigator.locks ? (run) => navigator.locks.request(`linnet-events-${id}`, run) : (run) => run();  // none over plain http
  share(() => new Promise((done) => {
    if (channel !== own) { done(); return; }
    const close = stream(id, (kind, data) => { tell(kind, data); own.postMessage({kind, data}); });
    release = () => { close(); done(); };
  }));
}

/** Keep a connection to a project's stream, also after answers that a browser gives up on; returns what ends it. */
function stream(id, hear) {
  let source = null, timer = 0, pause = SOON;
  const open = () => {
    source = new EventSource(api.url(`/projects/${id}/stream`));
    for (const kind of KINDS) source.addEventListener(kind, ({data}) => hear(kind, JSON.parse(data)));
    source.onopen = () => { pause = SOON; hear('reset', {}); };  // what happened before, or meanwhile, was not heard
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(open, pause);
      pause = Math.min(LATE, pause * 2);
    };
  };
  open();
  return () => { clearTimeout(timer); source.close(); };
}

function disconnect() {
  release?.();
  channel?.close();
  release = channel = null;
  project = 0;
}
