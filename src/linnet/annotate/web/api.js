// Requests to the server: JSON in and out, problems as errors, the version that an answer is of.

const PREFIX = '/api/v1';
let csrf = '';

/** What the server refuses; `title` and `detail` are sentences for people, `more` the whole answer. */
export class ApiError extends Error {
  constructor(status, more) {
    super(more.detail || more.title || `The server answers ${status}`);
    this.status = status;
    this.type = String(more.type || '').split('/').pop();
    this.title = more.title || '';
    this.detail = more.detail || '';
    this.more = more;
  }
}

/** There is no connection, or the server is away: what was asked may be asked again. */
export class OfflineError extends Error {
  constructor() {
    super('There is no connection to the server');
  }
}

/** Remember what a session answers: changes need it. */
export function keepSession(answer) {
  csrf = answer.csrf;
}

/** Return a random id; pages that came over plain http have no `crypto.randomUUID`. */
export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const hex = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5');
}

async function ask(method, path, {body, headers = {}, form, signal, keepalive} = {}) {
  const sent = {...headers};
  if (method !== 'GET') sent['X-CSRF-Token'] = csrf;
  if (body !== undefined) sent['Content-Type'] = 'application/json';
  let answer;
  try {
    answer = await fetch(PREFIX + path, {
      method, headers: sent, signal, keepalive, credentials: 'same-origin',
      body: form ?? (body === undefined ? undefined : JSON.stringify(body)),
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new OfflineError();
  }
  const type = answer.headers.get('Content-Type') || '';
  // a page where data was asked for comes from somebody between: a proxy that wants a name, a portal
  if ([502, 504].includes(answer.status) || (answer.ok && type.includes('text/html'))) throw new OfflineError();
  const json = type.includes('json');
  let found = null;
  try {
    if (answer.status !== 204) found = json ? await answer.json() : await answer.text();
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new OfflineError();  // it broke off
  }
  if (!answer.ok) {
    const problem = json ? found : {};
    if (answer.status === 401 && path !== '/session') dispatchEvent(new CustomEvent('linnet-signed-out'));
    throw new ApiError(answer.status, {...problem, retry: answer.headers.get('Retry-After')});
  }
  return {found, tag: answer.headers.get('ETag'), headers: answer.headers};
}

const lost = new Map();  // what was asked for by POST and not answered -> its key, so that asking again does it once
const OWN_WAY = /\/(commands|preview|candidates|session)\b/;  // what does nothing, or is known by an id of its own

async function post(path, body = {}, options = {}) {
  if (OWN_WAY.test(path)) return (await ask('POST', path, {body, ...options})).found;
  const act = `${path} ${JSON.stringify(body)}`;
  const key = lost.get(act) ?? uuid();
  lost.delete(act);
  try {
    return (await ask('POST', path, {body, ...options, headers: {'Idempotency-Key': key, ...options.headers}})).found;
  } catch (error) {
    if (error instanceof OfflineError) lost.set(act, key);
    throw error;
  }
}

export const api = {
  get: async (path, options) => (await ask('GET', path, options)).found,
  post,
  patch: async (path, body, options) => (await ask('PATCH', path, {body, ...options})).found,
  put: async (path, body, options) => (await ask('PUT', path, {body, ...options})).found,
  delete: async (path, options) => (await ask('DELETE', path, options)).found,
  /** Send files (FormData). */
  send: async (path, form) => (await ask('POST', path, {form})).found,
  /** Return `{found, tag}`: an answer with its ETag, for `If-Match`. */
  tagged: (path) => ask('GET', path),
  raw: ask,
  /** Return the address of something to be fetched by the browser itself. */
  url: (path) => PREFIX + path,
};

/** Return `?a=1&b=2` of what is given, lists repeated, what is empty left out. */
export function query(values) {
  const made = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== '' && one !== null && one !== undefined) made.append(key, one);
    }
  }
  return String(made) && `?${made}`;
}
