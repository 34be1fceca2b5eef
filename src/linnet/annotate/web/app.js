// The frame: who is signed in, which screen is shown, the keys that act anywhere, help and palette.

import {api, keepSession, OfflineError} from './api.js';
import {
  confirm, dialog, go, html, leads, nothing, openProject, plural, problem, projectIn, remembered, say, state, toast, View,
} from './base.js';
import {Desk, waiting} from './desk.js';
import {listen} from './events.js';
import {available, CONTEXTS, shown, TABLE, keysOf} from './keys.js';
import './signin.js';
import './projects.js';
import './project.js';
import './annotate.js';
import './concepts.js';
import './models.js';
import './adjudicate.js';
import './team.js';
import './settings.js';

const SCREENS = [  // pattern, tag, title; a group is given to the element as `args`
  [/^#?\/?$/, 'projects', () => html`<linnet-projects></linnet-projects>`],
  [/^#\/settings$/, 'settings', () => html`<linnet-settings></linnet-settings>`],
  [/^#\/p\/(\d+)$/, 'project', (project) => html`<linnet-project .project=${project}></linnet-project>`],
  [/^#\/p\/(\d+)\/a\/(\d+)$/, 'annotate', (project, id) => html`<linnet-annotate .project=${project} .assignment=${id}></linnet-annotate>`],
  [/^#\/p\/(\d+)\/concepts(?:\/(.+))?$/, 'concepts', (project, id) => html`<linnet-concepts .project=${project} .concept=${id}></linnet-concepts>`],
  [/^#\/p\/(\d+)\/models$/, 'models', (project) => html`<linnet-models .project=${project}></linnet-models>`],
  [/^#\/p\/(\d+)\/adjudicate(?:\/(\d+))?$/, 'adjudicate', (project, id) => html`<linnet-adjudicate .project=${project} .assignment=${id}></linnet-adjudicate>`],
  [/^#\/p\/(\d+)\/team$/, 'team', (project) => html`<linnet-team .project=${project}></linnet-team>`],
];

const NOWHERE = [/^/, 'nowhere', () => html`<h1>There is nothing at this address</h1>
  <p><a href="#/">All projects</a></p>`];
const SOON = 1000;  // milliseconds

class App extends View {
  static properties = {ready: {state: true}, hash: {state: true}, inside: {state: true}};

  constructor() {
    super();
    this.ready = this.inside = false;  // inside: somebody is signed in; what is on the screen may still ask who it was
    this.hash = location.hash;
  }

  connectedCallback() {
    super.connectedCallback();
    this.on(window, 'hashchange', () => this.follow());
    this.on(window, 'linnet-signed-out', () => this.signedOut());
    this.on(window, 'linnet-signed-in', () => this.signedIn());
    this.on(window, 'linnet-changed', () => this.requestUpdate());
    this.on(window, 'linnet-guidelines', () => this.guidelines());
    this.on(window, 'beforeunload', (event) => { if (state.me && waiting(state.me.user).length) event.preventDefault(); });
    const within = (part) => () => { if (!state.project) return false; go(`#/p/${state.project.project}${part}`); };
    this.keys({
      help: () => this.help(),
      palette: () => this.palette(),
      'next-panel': () => this.panel(1),
      'previous-panel': () => this.panel(-1),
      'go-projects': () => go('#/'),
      'go-settings': () => go('#/settings'),
      'sign-out': () => { if (!this.inside) return false; this.signOut(); },
      'go-project': within(''),
      'go-annotate': () => { const last = remembered.get(`last.${state.project?.project}`); if (!last) return false; go(`#/p/${state.project.project}/a/${last}`); },
      'go-concepts': within('/concepts'),
      'go-models': within('/models'),
      'go-adjudicate': within('/adjudicate'),
      'go-team': within('/team'),
      guidelines: () => this.guidelines(),
    });
    this.begin();
  }

  follow() {
    this.closeDialogs();  // what they ask is about the screen that was left
    this.hash = location.hash;
    if (this.hash.startsWith('#link=')) this.inside = false;  // a link is somebody's who has no password yet
    this.open();
  }

  signedOut() {
    this.inside = false;
    this.watch(0);
    this.closeDialogs();
  }

  closeDialogs() {
    for (const one of [...document.querySelectorAll('dialog[open]')].reverse()) one.close();
  }

  signedIn() {
    if (this.user && this.user !== state.me.user) { this.forget(); return; }
    this.user = state.me.user;
    this.inside = true;
    this.hash = location.hash;
    this.open();
    this.sendKept();
  }

  /** Begin afresh: nothing of a person stays in memory. */
  forget() {
    this.remove();
    location.reload();
  }

  async begin() {
    try {
      if (!location.hash.startsWith('#link=')) {
        const me = await api.get('/me');
        keepSession(me);
        state.me = me;
        this.user = me.user;
        this.inside = true;
      }
    } catch (error) {
      if (error instanceof OfflineError) problem(error);
    }
    this.ready = true;
    await this.open();
    this.sendKept();
    this.on(window, 'online', () => this.sendKept());
  }

  /** Send decisions that another visit could not; those of the document on the screen are its own business. */
  sendKept() {
    if (!this.inside) return;
    const here = Number(/\/(?:a|adjudicate)\/(\d+)$/.exec(location.hash)?.[1] || 0);
    for (const id of waiting(state.me.user)) if (id !== here) new Desk(id).flush().catch(() => {});
  }

  /** Read the project that an address is in before its screen is shown. */
  async open() {
    const id = projectIn(this.hash);
    if (this.inside && id) {
      try {
        await openProject(id);
      } catch (error) {
        if (error.status === 401 || id !== projectIn(this.hash)) return;
        problem(error);
        go('#/');
      }
    } else if (!id) {
      state.project = null;
    }
    this.watch(state.project?.project ?? 0);
    this.requestUpdate();
  }

  /** Hear what changes the open project itself, whichever screen is shown: its settings, model and members. */
  watch(id) {
    if (id === (this.watched ?? 0)) return;
    this.watched = id;
    clearTimeout(this.soon);
    this.silence?.();
    this.silence = id ? listen(id, (kind) => {
      if (!['member', 'model', 'reset'].includes(kind)) return;
      clearTimeout(this.soon);
      this.soon = setTimeout(() => this.again(id), SOON);
    }) : null;
  }

  /** Read the project again, and show what is new of it. */
  async again(id) {
    await openProject(id, {again: true}).catch(() => {});
    if (state.project?.project !== id) return;
    dispatchEvent(new CustomEvent('linnet-changed'));
    this.querySelector('#main > *')?.requestUpdate?.();
  }

  async signOut() {
    const left = waiting(state.me.user).length;
    const text = `Decisions in ${plural(left, 'document')} are not saved yet. They stay in this browser until you sign in here again.`;
    if (left && !await confirm('Some decisions wait for the server', text, 'Sign out all the same')) return;
    try {
      await api.delete('/session');
    } catch (error) {
      if (error.status !== 401) {
        const why = error instanceof OfflineError ? 'there is no connection' : error.detail || error.message;
        toast(`You are still signed in: ${why}`, {kind: 'bad', loud: true});
        return;
      }
    }
    location.hash = '#/';
    this.forget();
  }

  /** Move the focus to the next panel (`F6`). */
  panel(step) {
    const panels = [...this.querySelectorAll('[data-panel]')].filter((one) => one.offsetParent !== null);
    if (!panels.length) return false;
    const now = panels.findIndex((one) => one.contains(document.activeElement));
    const next = panels[(now + step + panels.length) % panels.length];
    next.focus();
    say(next.getAttribute('aria-label') || '');
  }

  help() {
    const own = (context) => TABLE.filter((one) => one.context === context);
    dialog('Keys', () => html`<div class="sheet">${Object.entries(CONTEXTS).map(([context, title]) => own(context).length ? html`
      <section><h3>${title}</h3><table>${own(context).map((one) => html`<tr><th scope="row">
        ${keysOf(one.id).map((key) => html`<kbd>${shown(key)}</kbd> `)}</th><td>${one.label}</td></tr>`)}</table></section>` : nothing)}
      </div><p class="note">Letters act while text or list has the focus. Change them in <a href="#/settings" @click=${(event) => event.target.closest('dialog').close()}>settings</a>.</p>`, {wide: true});
  }

  palette() {
    const actions = available().filter((one) => one.id !== 'palette');
    const target = document.activeElement;
    let words = '', at = 0;
    const fitting = () => actions.filter((one) => words.toLowerCase().split(/\s+/).every((word) => one.label.toLowerCase().includes(word)));
    dialog('Find an action', (close, redraw) => {
      const found = fitting();
      at = Math.max(0, Math.min(at, found.length - 1));
      const run = (one) => { close(); target?.focus?.(); setTimeout(() => one.run(new KeyboardEvent('keydown', {key: one.keys[0] ?? ''}), one.keys[0] ?? '')); };
      return html`<input autofocus type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-label="Action"
          aria-activedescendant=${found.length ? `palette-${at}` : nothing} .value=${words}
          @input=${(event) => { words = event.target.value; at = 0; redraw(); }}
          @keydown=${(event) => {
            if (event.key === 'ArrowDown') at += 1; else if (event.key === 'ArrowUp') at -= 1; else if (event.key === 'Enter' && found.length) run(found[at]); else return;
            event.preventDefault(); redraw();
          }}>
        <ul id="palette-list" role="listbox" aria-label="Actions" class="rows">${found.map((one, number) => html`
          <li id=${`palette-${number}`} role="option" aria-selected=${number === at} @click=${() => run(one)}>
            <span>${one.label}</span> <span>${one.keys.map((key) => html`<kbd>${shown(key)}</kbd>`)}</span></li>`)}</ul>`;
    });
  }

  async guidelines() {
    if (!state.project) return false;
    const found = await this.tell(() => api.get(`/projects/${state.project.project}/guidelines`));
    if (found) {
      dialog('Guidelines', () => found.length ? html`<p class="note">Version ${found[0].v} by ${found[0].by}</p><div class="guideline">${found[0].md}</div>`
        : html`<p>This project has no guidelines yet.</p>`, {wide: true});
    }
  }

  render() {
    if (!this.ready) return html`<p class="waiting" role="status">Linnet is starting…</p>`;
    if (!this.inside) return html`<main id="main" tabindex="-1"><linnet-signin></linnet-signin></main>`;
    const [pattern, name, screen] = SCREENS.find(([one]) => one.test(this.hash)) || NOWHERE;
    const numbered = (at) => name !== 'concepts' || at === 0;  // ids of concepts may be digits, too
    const args = (pattern.exec(this.hash) || []).slice(1).map((one, at) => one && (numbered(at) ? Number(one) : decoded(one)));
    const inProject = args.length > 0;
    if (inProject && state.project?.project !== args[0]) return html`<p class="waiting" role="status">Opening the project…</p>`;
    const link = (to, text, of) => html`<a href=${to} aria-current=${of === name ? 'page' : nothing}>${text}</a>`;
    const base = `#/p/${state.project?.project}`;
    return html`
      <header class="top">
        <a class="brand" href="#/"><img src="icon.svg" alt="" width="24" height="24">Linnet</a>
        ${inProject ? html`<nav aria-label="Project">
          ${link(base, state.project.name, 'project')}
          ${link(`${base}/concepts`, 'Concepts', 'concepts')}
          ${link(`${base}/models`, 'Models', 'models')}
          ${leads() ? html`${link(`${base}/adjudicate`, 'Adjudicate', 'adjudicate')}${link(`${base}/team`, 'Team', 'team')}` : nothing}
        </nav>` : html`<span class="grow"></span>`}
        <span class="me">${state.me.name}${inProject ? html` <small>(${state.project.role})</small>` : nothing}</span>
        <button class="quiet large" @click=${() => this.palette()} aria-label="Find an action" title="Find an action (Ctrl+K)">⌕</button>
        <button class="quiet" @click=${() => this.help()} aria-label="Show all keys" title="All keys (?)">?</button>
        <a href="#/settings" title="Settings" aria-label="Settings" aria-current=${name === 'settings' ? 'page' : nothing}>⚙</a>
        <button class="quiet" @click=${() => this.signOut()}>Sign out</button>
      </header>
      <main id="main" tabindex="-1" class=${name}>${screen(...args)}</main>`;
  }
}

/** Return what a part of an address says, as it is where somebody typed what cannot be decoded. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Put the choices of this browser in place: theme, size of the text. */
export function dress() {
  document.documentElement.dataset.theme = remembered.get('theme', 'auto');
  document.documentElement.style.setProperty('--size', `${remembered.get('size', 16)}px`);
  document.documentElement.style.setProperty('--lane', String(remembered.get('lane', 1)));
}

dress();
addEventListener('linnet-dressed', dress);
customElements.define('linnet-app', App);
