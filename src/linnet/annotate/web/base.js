// What all screens share: elements without a shadow, spoken messages, toasts, dialogs, addresses, what is remembered.

import {html, LitElement, nothing, render} from './lit.js';
import {bind} from './keys.js';
import {api, OfflineError} from './api.js';
import {listen} from './events.js';

export {html, nothing};
export {svg, repeat, live, keyed, classMap, ref, createRef} from './lit.js';

const SOON = 1000;  // milliseconds

/** An element whose content stands in the page itself, so that one style sheet, the focus and readers reach all of it. */
export class View extends LitElement {
  #unbind = [];
  createRenderRoot() { return this; }
  /** The project that this stands in, as it was last read: also once that was left, while an answer was on its way. */
  get its() { return projectOf(this.project); }
  /** What stands in a project that was just left is not drawn again. */
  shouldUpdate() { return typeof this.project !== 'number' || this.project === state.project?.project; }
  /** Bind keys (`keys.js`) and listeners for as long as the element is shown. */
  keys(actions) { this.#unbind.push(bind(actions)); }
  on(target, kind, run) {
    target.addEventListener(kind, run);
    this.#unbind.push(() => target.removeEventListener(kind, run));
  }
  /** Hear what happens in the project on the screen (`events.js`): `run(kind, data)`. */
  listen(run) { this.#unbind.push(listen(this.project, run)); }
  /** Run something a moment after something happened of one of these kinds; what comes at once counts as one. */
  reload(kinds, run) {
    let timer = 0;
    this.listen((kind) => {
      if (!kinds.includes(kind)) return;
      clearTimeout(timer);
      timer = setTimeout(run, SOON);
    });
    this.#unbind.push(() => clearTimeout(timer));
  }
  disconnectedCallback() {
    super.disconnectedCallback();
    for (const unbind of this.#unbind.splice(0)) unbind();
  }
  /** Run something that asks the server; what goes wrong is told to the person. Returns undefined then. */
  async tell(run) {
    try {
      return await run();
    } catch (error) {
      if (error.name !== 'AbortError') problem(error);
      return undefined;
    }
  }
}

/** Say something to screen readers; `loud` for conflicts and losses alone. */
export function say(text, loud = false) {
  const kind = loud ? 'assertive' : 'polite';
  // while a dialog is open, what stands outside of it is not read
  const region = [...document.querySelectorAll('dialog[open]')].at(-1)?.querySelector(`:scope > .${kind}`) || document.getElementById(kind);
  const now = performance.now();
  const texts = [...(loud && alarms.get(region) || []).filter((one) => now - one.at < UNREAD && one.text !== text), {text, at: now}];
  alarms.set(region, texts);
  region.textContent = '';
  requestAnimationFrame(() => { region.textContent = texts.map((one) => one.text).join('. '); });
}

const UNREAD = 500;  // ms: an alarm that a second one follows so soon has not been read, and stays in front of it
const alarms = new WeakMap();  // region -> what was said in it last

/** Show a short message for some seconds; `action` is `{label, run}`. */
export function toast(text, {kind = '', action, loud = false} = {}) {
  const box = document.createElement('div'), before = document.activeElement;
  const close = () => {  // the focus goes back to where it was: the page itself has no keys
    const held = box.contains(document.activeElement);
    box.remove();
    const there = before?.isConnected && before !== document.body ? before : document.querySelector('.text, [data-panel], main');
    if (held) there?.focus({preventScroll: true});
  };
  box.className = `toast ${kind}`;
  render(html`<span>${text}</span>${action ? html`<button @click=${() => { close(); action.run(); }}>${action.label}</button>` : nothing}
    <button class="quiet" aria-label="Close the message" @click=${close}>✕</button>`, box);
  const all = document.getElementById('toasts');
  all.append(box);
  if (all.matches(':popover-open')) all.hidePopover();
  all.showPopover();  // in front of dialogs
  say(text, loud);
  setTimeout(close, kind === 'bad' ? 12000 : 6000);
}

/** Tell what went wrong, as a sentence. */
export function problem(error) {
  if (error instanceof OfflineError) toast('No connection: nothing is lost, try again', {kind: 'bad', loud: true});
  else if (error.status === 401) return;
  else toast(error.detail || error.message, {kind: 'bad', loud: true});
  if (!error.status && !(error instanceof OfflineError)) console.error(error);
}

/** Ask something in a dialog. `content(close)` is its template; resolves with what `close(value)` is given. */
export function dialog(title, content, {wide = false} = {}) {
  const box = document.createElement('dialog');
  const before = document.activeElement;
  box.className = wide ? 'wide' : '';
  box.setAttribute('aria-label', title);
  for (const [kind, role] of [['polite', 'status'], ['assertive', 'alert']]) {
    const region = document.createElement('div');
    region.className = `unseen ${kind}`;
    region.setAttribute('role', role);
    box.append(region);
  }
  document.body.append(box);
  return new Promise((resolve) => {
    let value;
    const close = (given) => { value = given; box.close(); };
    box.addEventListener('close', () => { box.remove(); before?.focus?.(); resolve(value); });
    box.redraw = () => render(html`<form method="dialog" @submit=${(event) => event.preventDefault()}>
      <header><h2>${title}</h2><button type="button" class="quiet" aria-label="Close" @click=${() => close()}>✕</button></header>
      ${content(close, box.redraw)}</form>`, box);
    box.redraw();
    box.showModal();
    box.querySelector('[autofocus]')?.focus();
  });
}

/** Ask yes or no. */
export function confirm(title, text, yes = 'OK') {
  return dialog(title, (close) => html`<p>${text}</p><footer>
    <button type="button" @click=${() => close(false)}>Cancel</button>
    <button type="submit" class="main" autofocus @click=${() => close(true)}>${yes}</button></footer>`);
}

/** Name what is shown, for the tab and its history. */
export function entitle(...what) { document.title = [...what, 'Linnet'].join(' · '); }

/** Go to an address: `#/p/1/a/5`. */
export function go(hash) { location.hash = hash; }

/** Who is signed in: `{user, name, admin}`, and the project that is open with its `role`, settings and members. */
export const state = {me: null, project: null};

/** Return the number of the project that an address is in, 0 for none. */
export const projectIn = (hash) => Number(/^#\/p\/(\d+)/.exec(hash)?.[1] || 0);

const read = new Map();  // projects by number

/** Return a project as it was last read, whichever is open now. */
export const projectOf = (id) => read.get(id);

/** Open a project: returns it, and keeps it if that is still where one is. */
export async function openProject(id, {again = false} = {}) {
  if (state.project?.project === id && !again) return state.project;
  const [{found, tag}, members] = await Promise.all([
    api.tagged(`/projects/${id}`), api.get(`/projects/${id}/members`),
  ]);
  const project = {...found, tag, members};
  read.set(id, project);
  if (projectIn(location.hash) === id) state.project = project;
  return project;
}

export const leads = () => ['admin', 'curator'].includes(state.project?.role);
export const works = () => state.project && state.project.role !== 'viewer';

const OF_ALL = ['theme', 'size', 'lane', 'keys'];  // choices of a browser, whoever sits there
const storedAs = (key) => (state.me && !OF_ALL.includes(key) ? `linnet.${state.me.user}.${key}` : `linnet.${key}`);

/** What this browser remembers of this person's choices. */
export const remembered = {
  get: (key, otherwise) => JSON.parse(localStorage.getItem(storedAs(key)) ?? 'null') ?? otherwise,
  set: (key, value) => localStorage.setItem(storedAs(key), JSON.stringify(value)),
};

/** Return a number for people: `1,234`, `.87`, `4 min`. */
export const count = (value) => Number(value).toLocaleString('en');
export const share = (value) => {
  if (value == null) return '–';
  const text = Number(value).toFixed(2);
  return (value < 1 && text === '1.00' ? '0.99' : text).replace(/^(-?)0\./, '$1.');  // 1.00 is kept for what is perfect
};
export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;
export const when = (text) => new Date(/[zZ]|[+-]\d\d:?\d\d$/.test(text) ? text : `${text}Z`)
  .toLocaleString('en-GB', {dateStyle: 'medium', timeStyle: 'short'});
