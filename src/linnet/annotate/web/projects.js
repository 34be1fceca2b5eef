// The projects of somebody, and for administrators of the server: new projects, and the people.

import {api} from './api.js';
import {dialog, entitle, go, html, nothing, plural, state, View} from './base.js';
import {faultsOf, focusWrong} from './forms.js';
import {changesOf, faultsOfDraft, NEW, placeRecipe, projectFields, WORDS} from './project_fields.js';
import './users.js';

const MAY = {
  admin: 'You may do everything here.', curator: 'You annotate, adjudicate, train and export.', annotator: 'You annotate.',
  viewer: 'You may look.',
};

class Projects extends View {
  static properties = {found: {state: true}, failed: {state: true}};

  constructor() {
    super();
    this.found = null;
    this.failed = '';
  }

  connectedCallback() {
    super.connectedCallback();
    entitle('Projects');
    // who was just added to one comes back to look
    this.on(window, 'focus', () => api.get('/projects').then((found) => { this.found = found; }).catch(() => {}));
    this.load();
  }

  async load() {
    this.failed = '';
    const found = await this.tell(() => api.get('/projects'));
    if (found) this.found = found;
    else this.failed = 'The projects could not be read.';
  }

  async add() {
    const made = await newProject();
    if (made) go(`#/p/${made.project}`);
  }

  card(one) {
    return html`<li class="panel project-card">
      <h2><a href=${`#/p/${one.project}`}>${one.name}</a></h2>
      <p class="row"><span class="chip" title=${MAY[one.role]}>${one.role}</span>
        <span class="note">${one.kb ? html`links to <code>${one.kb}</code>` : 'without a knowledge base'}</span></p>
      ${one.archived ? html`<p class="note">Archived: it can be read and exported, and an admin can bring it back.</p>` : nothing}
    </li>`;
  }

  list() {
    if (this.failed) return html`<p>${this.failed} <button @click=${() => this.load()}>Try again</button></p>`;
    if (!this.found) return html`<p class="waiting" role="status">Reading the projects…</p>`;
    const current = this.found.filter((one) => !one.archived), archived = this.found.filter((one) => one.archived);
    return html`
      ${current.length ? html`<ul class="project-cards">${current.map((one) => this.card(one))}</ul>` : this.nothingYet(archived.length)}
      ${archived.length ? html`<details><summary>${plural(archived.length, 'archived project')}</summary>
        <ul class="project-cards">${archived.map((one) => this.card(one))}</ul></details>` : nothing}`;
  }

  nothingYet(archived) {
    if (state.me.admin) {
      return html`<div class="panel"><p>${archived ? 'All your projects are archived.' : 'There is no project of yours yet.'}
        A project is a set of documents, a knowledge base that mentions are linked to, and the people who work on it.</p></div>`;
    }
    return html`<div class="panel"><p>You are in no project yet. An admin of a project adds you to it; tell them your name here,
      which is <strong>${state.me.name}</strong>.</p></div>`;
  }

  render() {
    return html`<div class="row screen-title"><h1>Projects</h1>
        ${state.me.admin ? html`<button class="main" @click=${() => this.add()}>New project</button>` : nothing}</div>
      <section data-panel tabindex="-1" aria-label="My projects">${this.list()}</section>
      ${state.me.admin ? html`<linnet-users></linnet-users>` : nothing}`;
  }
}

/** Ask for what a new project needs; resolves with what the server answers, undefined if there is to be none. */
function newProject() {
  const draft = {...NEW};
  let wrong = {}, busy = false;
  return dialog('New project', (close, redraw) => {
    const refuse = (found) => {
      wrong = found;
      redraw();
      focusWrong(document.querySelector('dialog[open]'));
    };
    const make = async () => {
      if (busy) return;
      const faults = faultsOfDraft(draft);
      if (Object.keys(faults).length) { refuse(faults); return; }
      busy = true;
      try {
        const {name, kb, blind} = draft;
        close(await api.post('/projects', {name, kb, blind, ...changesOf(draft, NEW)}));
      } catch (error) {
        busy = false;
        refuse(placeRecipe(faultsOf(error, WORDS), draft));
      }
    };
    return html`<div class="fields">${projectFields(draft, wrong, redraw, 'new', {brief: true})}</div>
      <p class="wrong" role="alert">${wrong[''] || nothing}</p>
      <p class="note">All of it can be changed later.</p>
      <footer><button type="button" @click=${() => close()}>Cancel</button>
        <button type="submit" class="main" @click=${make}>Make the project</button></footer>`;
  }, {wide: true});
}

customElements.define('linnet-projects', Projects);
