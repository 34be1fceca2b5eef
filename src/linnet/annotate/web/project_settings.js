// The settings and the guidelines of a project, each in a dialog; nobody overwrites what another has changed meanwhile.

import {api} from './api.js';
import {confirm, dialog, html, nothing, leads, openProject, plural, remembered, state, when} from './base.js';
import {faultsOf, focusWrong} from './forms.js';
import {changesOf, draftOf, faultsOfDraft, lookForKb, placeRecipe, projectFields, strategyName, WORDS} from './project_fields.js';

const LABELS = {
  name: 'name', kb: 'knowledge base', blind: 'blind', strategy: 'what is read next', annotators: 'people who read each document',
  lease_hours: 'hours that a document is kept', untrained: 'suggestions before there is a model', recipe: 'recipe of models',
};

function shownValue(key, value) {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return key === 'strategy' ? strategyName(value) : String(value) || 'none';
}

/** Let an admin change the settings; resolves with whether anything was changed. */
export function editSettings() {
  const it = new SettingsDialog(state.project);
  return dialog(`Settings of ${it.project.name}`, (close, redraw) => it.draw(close, redraw), {wide: true});
}

class SettingsDialog {
  constructor(project) {
    this.wrong = {};
    this.theirs = [];
    this.busy = false;
    this.draft = draftOf(project);
    this.read(project);
  }

  /** Take what stands on the server as what changes are measured by. */
  read(project) {
    this.project = project;
    this.before = draftOf(project);
  }

  refuse(found, redraw) {
    this.wrong = found;
    redraw();
    focusWrong(document.querySelector('dialog[open]'));
  }

  async save(close, redraw) {
    if (this.busy) return;
    const faults = faultsOfDraft(this.draft), changes = changesOf(this.draft, this.before);
    if (Object.keys(faults).length) { this.refuse(faults, redraw); return; }
    if (!Object.keys(changes).length) { close(false); return; }
    await this.send(changes, close, redraw);
  }

  async send(changes, close, redraw) {
    this.busy = true;
    try {
      await api.patch(`/projects/${this.project.project}`, changes, {headers: {'If-Match': this.project.tag}});
      close(true);
    } catch (error) {
      if (error.status === 412) await this.compare(changes, close, redraw);
      else this.refuse(placeRecipe(faultsOf(error, WORDS), this.draft), redraw);
    }
    this.busy = false;
  }

  /** Read what somebody else has changed; own changes stay in the fields. */
  async compare(changes, close, redraw) {
    const mine = this.before;
    try {
      this.read(await openProject(this.project.project, {again: true}));
    } catch (error) {
      this.refuse(faultsOf(error), redraw);
      return;
    }
    this.theirs = Object.keys(LABELS).filter((key) => mine[key] !== this.before[key])
      .map((key) => ({key, now: this.before[key], yours: this.draft[key] === mine[key] ? undefined : this.draft[key]}));
    if (!this.theirs.length) { await this.send(changes, close, redraw); return; }  // a model was taken into use: no conflict
    for (const {key, yours} of this.theirs) if (yours === undefined) this.draft[key] = this.before[key];
    const said = 'Somebody has changed the settings since you opened them. Nothing of yours is saved yet: look, and save again.';
    this.refuse({'': said}, redraw);
  }

  async archive(close, redraw) {
    const {archived} = this.project;
    const yes = archived || await confirm('Archive this project?', 'It can be read and exported, but nobody can change anything until an '
      + 'admin brings it back. Nothing is deleted.', 'Archive');
    if (yes) await this.send({archived: !archived}, close, redraw);
  }

  changed() {
    if (!this.theirs.length) return nothing;
    return html`<ul class="changed-list">${this.theirs.map(({key, now, yours}) => html`
      <li><strong>${LABELS[key]}</strong>: now ${shownValue(key, now)}${yours === undefined ? ''
        : html`; <strong>yours, ${shownValue(key, yours)}, takes its place if you save</strong>`}</li>`)}</ul>`;
  }

  draw(close, redraw) {
    if (!this.looked) {
      this.looked = true;
      lookForKb(this.draft).then(redraw);
    }
    return html`<div class="fields">${projectFields(this.draft, this.wrong, redraw, 'settings')}</div>
      <div role="alert"><p class="wrong">${this.wrong[''] || nothing}</p>${this.changed()}</div>
      <p class="note">Changes hold from the next documents and predictions on; what was decided stays.</p>
      <footer><button type="button" @click=${() => this.archive(close, redraw)}>
          ${this.project.archived ? 'Bring the project back' : 'Archive the project'}</button>
        <span class="grow"></span>
        <button type="button" @click=${() => close(false)}>Cancel</button>
        <button type="submit" class="main" @click=${() => this.save(close, redraw)}>Save the settings</button></footer>`;
  }
}

/** Show the guidelines with their versions; who leads the project writes the next one. */
export async function editGuidelines(project) {
  const it = new GuidelinesDialog(project);
  return dialog('Guidelines', (close, redraw) => it.draw(close, redraw), {wide: true});
}

class GuidelinesDialog {
  constructor(project) {
    this.project = project;
    this.draftKey = `guidelines.${project}`;
    this.found = null;
    this.shown = 0;
    this.editing = false;
    this.wrong = '';
    this.text = null;
  }

  async read(redraw) {
    try {
      this.found = await api.get(`/projects/${this.project}/guidelines`);
    } catch (error) {
      this.wrong = error.message;
    }
    redraw();
  }

  edit(redraw) {
    this.editing = true;
    this.text = remembered.get(this.draftKey) ?? this.found[0]?.md ?? '';
    redraw();
    document.querySelector('#guideline-text')?.focus();
  }

  async save(redraw) {
    try {
      await api.post(`/projects/${this.project}/guidelines`, {md: this.text});
      remembered.set(this.draftKey, null);
      Object.assign(this, {editing: false, shown: 0, wrong: ''});
      await this.read(redraw);
    } catch (error) {
      this.wrong = faultsOf(error)[''];
      redraw();
    }
  }

  discard(redraw) {
    remembered.set(this.draftKey, null);
    this.editing = false;
    redraw();
  }

  draw(close, redraw) {
    if (!this.looked) {
      this.looked = true;
      this.read(redraw);
    }
    if (!this.found) return html`<p role="status">${this.wrong || 'Reading…'}</p>`;
    return this.editing ? this.editor(close, redraw) : this.reader(close, redraw);
  }

  editor(close, redraw) {
    const next = (this.found[0]?.v ?? 0) + 1;
    return html`<label for="guideline-text">Text of version ${next}, as Markdown</label>
      <textarea id="guideline-text" rows="18" maxlength="1000000" .value=${this.text} aria-describedby="guideline-hint guideline-wrong"
        @input=${(event) => { this.text = event.target.value; remembered.set(this.draftKey, this.text); }}></textarea>
      <p class="hint" id="guideline-hint">What counts as a mention, where it begins and ends, which concept to take in doubt, with examples.
        Earlier versions stay: each decision says by which one it was made. What you type is kept in this browser until you save it.</p>
      <p class="wrong" id="guideline-wrong" role="alert">${this.wrong || nothing}</p>
      <footer><button type="button" @click=${() => this.discard(redraw)}>Throw away what I typed</button>
        <button type="submit" class="main" @click=${() => this.save(redraw)}>Save as version ${next}</button></footer>`;
  }

  reader(close, redraw) {
    const one = this.found[this.shown], draft = remembered.get(this.draftKey);
    return html`${one ? html`
        <div class="row"><label for="guideline-version">Version</label>
          <select id="guideline-version" @change=${(event) => { this.shown = Number(event.target.value); redraw(); }}>
            ${this.found.map((version, at) => html`
              <option value=${at} ?selected=${at === this.shown}>${version.v}, ${when(version.made)}, by ${version.by}</option>`)}</select>
          <span class="note">${plural(this.found.length, 'version')}</span></div>
        <div class="guideline" tabindex="0" role="region" aria-label=${`Guidelines, version ${one.v}`}>${one.md}</div>`
      : html`<p>This project has no guidelines yet. They say what counts as a mention and which concept to take in doubt.</p>`}
      ${leads() && draft ? html`<p class="warn">A text that you began is kept in this browser.</p>` : nothing}
      <footer>${leads() && !state.project.archived ? html`<button type="button" @click=${() => this.edit(redraw)}>
          ${draft ? 'Go on writing' : one ? 'Write a new version' : 'Write them'}</button>` : nothing}
        <button type="submit" class="main" @click=${() => close()}>Close</button></footer>`;
  }
}
