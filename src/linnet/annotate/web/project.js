// A project (S1): resume, what I have to read, how far it is, what is in it, and for those who lead it settings and exports.

import {api} from './api.js';
import {entitle, html, leads, nothing, openProject, View, works} from './base.js';
import {sentence} from './forms.js';
import {named} from './jobs.js';
import {editGuidelines, editSettings} from './project_settings.js';
import './project_documents.js';
import './project_export.js';
import './project_progress.js';
import './project_queue.js';
import './project_upload.js';

const SOON = 400;  // milliseconds: what happens together is read together
const PARTS = {  // which parts read again after which events
  mention: ['queue'], assignment: ['queue', 'progress', 'documents'], document: ['documents', 'progress', 'queue'], prediction: ['queue'],
  model: ['head', 'queue', 'progress'], member: ['head', 'progress'], reset: ['head', 'queue', 'progress', 'documents'],
};

class Project extends View {
  static properties = {project: {type: Number}, guideline: {state: true}, documents: {state: true}};

  constructor() {
    super();
    this.guideline = this.documents = null;
    this.names = new Map();  // of models
    this.due = new Set();
  }

  connectedCallback() {
    super.connectedCallback();
    entitle(this.its.name);
    this.keys({
      resume: () => this.part('queue')?.resume(),
      upload: () => this.part('upload')?.choose(),
      draw: () => this.part('queue')?.draw(),
    });
    this.listen((kind, data) => this.hear(kind, data));
    this.head();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.timer);
  }

  part(name) { return this.querySelector(`linnet-project-${name}`); }

  /** Read again what an event is about, a moment later. */
  hear(kind, data) {
    if (kind === 'job') this.part('upload')?.hear(data);
    if (['prediction', 'model', 'reset'].includes(kind)) this.part('queue')?.stale();
    if (kind === 'mention' && !this.part('queue')?.has(data.assignment)) return;
    for (const part of PARTS[kind] || []) this.due.add(part);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), SOON);
  }

  refresh() {
    const due = [...this.due];
    this.due.clear();
    for (const name of due) {
      if (name === 'head') { this.again(); this.head(); }
      else this.part(name)?.refresh();
    }
  }

  /** Read the project itself again; what cannot be read stays as it is. */
  async again() {
    await openProject(this.project, {again: true}).catch(() => {});
    dispatchEvent(new CustomEvent('linnet-changed'));
    this.requestUpdate();
  }

  async head() {
    const path = `/projects/${this.project}`;
    const [found, {models}] = await Promise.all([api.get(`${path}/guidelines`), api.get(`${path}/models`)]).catch(() => [[], {models: []}]);
    this.guideline = found[0]?.v ?? 0;
    this.names = named(models);
  }

  async settings() {
    await this.again();  // what others have just changed is no conflict
    if (await editSettings()) await this.again();
  }

  async guidelines() {
    await editGuidelines(this.project);
    await this.head();
  }

  // --- what is drawn ------------------------------------------------------------------------------------------------

  banners() {
    const {kb_problem: lacking, archived, kb, role} = this.its;
    const admin = role === 'admin';
    return html`
      ${lacking ? html`<div class="banner bad" role="alert"><strong>The knowledge base “${kb}” cannot be opened.</strong>
        ${sentence(lacking)}<br>Decisions are kept, but no concepts can be searched and nothing can be predicted until this is mended.
        ${admin ? html`<button @click=${() => this.settings()}>Choose another one</button>` : 'Tell an admin of the project.'}</div>`
        : nothing}
      ${archived ? html`<div class="banner" role="status">This project is archived: it can be read and exported, not changed.
        ${admin ? html`<button @click=${() => this.settings()}>Settings</button>` : nothing}</div>` : nothing}`;
  }

  title() {
    const {name, kb, kb_version: version, model, blind} = this.its;
    return html`<header class="row screen-title">
      <h1>${name}</h1>
      <p class="row tight facts">
        <span class="chip">${kb ? `knowledge base ${kb}${version && `@${version.slice(0, 4)}`}` : 'no knowledge base'}</span>
        <span class="chip">${model ? `model ${this.names.get(model) ?? ''}` : 'no model yet'}</span>
        ${blind ? html`<span class="chip" title="Nobody sees what another decides before both are done">blind</span>` : nothing}</p>
      <span class="grow"></span>
      <button @click=${() => this.guidelines()}>Guidelines${this.guideline ? ` v${this.guideline}` : ''}</button>
      ${this.its.role === 'admin' ? html`<button @click=${() => this.settings()}>Settings</button>` : nothing}
    </header>`;
  }

  render() {
    const active = !this.its.archived;
    return html`<div class="project-screen" data-keys="project">
      ${this.title()} ${this.banners()}
      <div class="project-board">
        <linnet-project-queue .project=${this.project} .documents=${this.documents}
          @upload=${() => this.part('upload')?.choose()}></linnet-project-queue>
        <div class="project-side">
          <linnet-project-progress .project=${this.project}></linnet-project-progress>
          ${works() && active ? html`<linnet-project-upload .project=${this.project}></linnet-project-upload>` : nothing}
          ${leads() ? html`<linnet-project-export .project=${this.project}></linnet-project-export>` : nothing}
        </div>
        <linnet-project-documents .project=${this.project}
          @counted=${(event) => { this.documents = event.detail; }}></linnet-project-documents>
      </div></div>`;
  }
}

customElements.define('linnet-project', Project);
