// Bringing in documents: files, a folder or pasted text, by button or by drag and drop; what was wrong is told by file and line.

import {api, OfflineError} from './api.js';
import {count, dialog, html, leads, nothing, plural, say, View, when} from './base.js';
import {faultsOf, field, sentence} from './forms.js';

const MOST_FILES = 500, MOST_BYTES = 8 << 20;  // of one request, so that the bar moves
const LISTED = 100;  // errors
const RUNNING = ['queued', 'running'];
const EARLIER = 20;

/** What formats are called. */
export const FORMATS = {
  jsonl: 'JSON Lines (Linnet)', pubtator: 'PubTator', bioc: 'BioC XML', bioc_json: 'BioC JSON', brat: 'brat (.txt with .ann)',
  conll: 'CoNLL', text: 'Plain text, a document each', text_lines: 'Plain text, a document a line', gsc: 'GSC+', pubmed: 'PubMed XML',
  csv: 'CSV', texoo: 'TrainX / TeXoo JSON', bigbio: 'BigBIO JSON', spacy: 'spaCy DocBin', html: 'HTML of Linnet',
  webanno: 'WebAnno TSV (INCEpTION)', jats: 'JATS XML (PubMed Central)', medcat: 'MedCATtrainer JSON', label_studio: 'Label Studio JSON',
};

const stemOf = (name) => name.replace(/\.(txt|ann)(\.gz)?$/i, '');

/** Return files in parts for one request each; those that belong together, as brat's, stay together. */
export function partsOf(files) {
  const sorted = [...files].sort((a, b) => (stemOf(a.path) < stemOf(b.path) ? -1 : 1));
  const parts = [];
  let bytes = 0, stem = null;
  for (const file of sorted) {
    const full = !parts.length || parts.at(-1).length >= MOST_FILES || bytes + file.size > MOST_BYTES;
    if (full && stemOf(file.path) !== stem) { parts.push([]); bytes = 0; }
    parts.at(-1).push(file);
    bytes += file.size;
    stem = stemOf(file.path);
  }
  return parts;
}

/** Return all files of what was dropped, folders too. */
async function dropped({items, files}) {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const found = entries.length ? [] : [...files].map((file) => named(file, file.name));
  for (const entry of entries) await walk(entry, found);
  return found;
}

async function walk(entry, found) {
  if (entry.isFile) {
    const file = await new Promise((done, failed) => { entry.file(done, failed); });
    found.push(named(file, entry.fullPath.slice(1)));
    return;
  }
  const reader = entry.createReader();
  for (;;) {  // it gives a hundred at a time
    const some = await new Promise((done, failed) => { reader.readEntries(done, failed); });
    if (!some.length) return;
    for (const one of some) await walk(one, found);
  }
}

const named = (file, path) => ({file, path, size: file.size});
const hidden = ({path}) => path.split('/').some((part) => part.startsWith('.'));

class Upload extends View {
  static properties = {
    project: {type: Number}, formats: {state: true}, sent: {state: true}, result: {state: true}, over: {state: true},
    job: {state: true}, wrong: {state: true},
  };

  constructor() {
    super();
    this.formats = [];
    this.earlier = [];
    this.sent = this.result = this.job = null;
    this.over = false;
    this.wrong = '';
    this.options = {format: '', repair: false, suggest: true};
  }

  connectedCallback() {
    super.connectedCallback();
    this.on(window, 'beforeunload', (event) => { if (this.sent) event.preventDefault(); });
    this.load();
  }

  async load() {
    const found = await this.tell(() => api.get(`/projects/${this.project}/uploads`));
    if (!found) return;
    this.formats = found.formats;
    this.earlier = found.uploads;
    this.requestUpdate();
  }

  /** Open the system's dialog for files. */
  choose() { this.querySelector('#upload-files')?.click(); }

  /** Hear how far suggestions for new documents are. */
  hear(job) {
    if (job.kind === 'predict') this.job = RUNNING.includes(job.state) || job.job === this.job?.job ? job : this.job;
  }

  // --- acts ---------------------------------------------------------------------------------------------------------

  picked(event) {
    const files = [...event.target.files].map((file) => named(file, file.webkitRelativePath || file.name));
    event.target.value = '';
    this.send(files);
  }

  async drop(event) {
    event.preventDefault();
    this.over = false;
    const files = await this.tell(() => dropped(event.dataTransfer));
    if (files) this.send(files);
  }

  /** Send files, a part at a time; what a part adds is kept even if a later one fails. */
  async send(given) {
    const files = given.filter((one) => !hidden(one));
    if (this.sent) { this.wrong = 'Wait until the files before are there.'; return; }
    if (!files.length) { this.wrong = given.length ? 'The folder holds hidden files alone.' : 'There is no file in it.'; return; }
    this.wrong = '';
    this.result = {added: 0, there: 0, otherwise: 0, alike: 0, errors: [], left: [], files: files.length};
    this.sent = {done: 0, of: files.reduce((sum, one) => sum + one.size, 0), files: 0, all: files.length, stop: false};
    say(`Sending ${plural(files.length, 'file')}`);
    const parts = partsOf(files);
    while (parts.length && !this.sent.stop) {
      if (!await this.sendPart(parts[0])) break;
      const part = parts.shift();
      this.sent = {...this.sent, done: this.sent.done + part.reduce((sum, one) => sum + one.size, 0), files: this.sent.files + part.length};
    }
    this.finish(parts.flat());
  }

  /** Send one part; returns false if there is no connection. */
  async sendPart(part) {
    const form = new FormData();
    for (const {file, path} of part) form.append('files', file, path);
    if (this.options.format) form.append('format', this.options.format);
    if (this.options.repair) form.append('repair', 'true');
    try {
      this.count(await api.send(`/projects/${this.project}/uploads`, form));
    } catch (error) {
      if (error instanceof OfflineError && part.length === 1 && part[0].size > MOST_BYTES) {
        this.fail(part, 'The connection broke off while it was sent: it may be too large. Split it, or pack it into a zip file.');
      } else if (error instanceof OfflineError || error.status === 401) {
        return false;
      } else {
        const large = error.status === 413 && `it is too large for the server (${error.detail}): split it`;
        this.fail(part, sentence(large || error.detail || error.message));
      }
    }
    return true;
  }

  count(answer) {
    this.result.added += answer.added.length;
    this.result.there += answer.there;
    this.result.otherwise += answer.there_otherwise.length;
    this.result.alike += answer.same_id.length;
    this.result.errors.push(...answer.errors);
  }

  fail(part, message) {
    const file = part.length === 1 ? part[0].path : `${part[0].path} and ${plural(part.length - 1, 'other file')}`;
    this.result.errors.push({file, line: null, message, done: 'left out'});
  }

  finish(left) {
    this.result = {...this.result, left, stopped: Boolean(this.sent?.stop)};
    this.sent = null;
    say(`${this.summary()} ${this.result.errors.length ? plural(this.result.errors.length, 'problem') : ''}`);
    this.load();
    this.suggest();
  }

  /** Ask for suggestions in the new documents, where that is wanted and allowed. */
  async suggest() {
    if (!this.result.added || !leads() || !this.options.suggest || !this.its.kb_version) return;
    this.job = await this.tell(() => api.post(`/projects/${this.project}/jobs`, {kind: 'predict'})) ?? this.job;
  }

  async paste() {
    const answer = await pasteDialog(this.project, this.formats);
    if (!answer) return;
    this.result = {added: 0, there: 0, otherwise: 0, alike: 0, errors: [], left: [], files: 1};
    this.count(answer);
    this.finish([]);
  }

  // --- what is drawn ------------------------------------------------------------------------------------------------

  summary() {
    const {added, there, otherwise, alike, errors, left} = this.result;
    const said = [`${count(added)} new`];
    if (there) said.push(`${count(there)} ${there === 1 ? 'was' : 'were'} there already`);
    if (otherwise) said.push(`${count(otherwise)} ${otherwise === 1 ? 'is' : 'are'} there with other annotations, which stay`);
    if (alike) said.push(`${count(alike)} of the new ${alike === 1 ? 'has' : 'have'} the id of another document: its text differs, and both stay`);
    if (!(added || there || otherwise) && errors.length) return 'Nothing was added.';
    if (!(added || there || otherwise) && left.length) return 'Nothing was sent.';
    return `${said.join(', ')}.`;
  }

  results() {
    const {errors, left, stopped} = this.result;
    return html`<div class="upload-results">
      <p><strong>${this.summary()}</strong></p>
      ${left.length ? html`<p class="bad">${plural(left.length, 'file')} not sent${stopped ? '' : ': there is no connection'}.
        <button @click=${() => this.send(left)}>Send ${left.length === 1 ? 'it' : 'them'} now</button></p>` : nothing}
      ${errors.length ? errorList(errors) : nothing}
      <button class="quiet" @click=${() => { this.result = null; this.focusFirst(); }}>Close this report</button></div>`;
  }

  focusFirst() { this.updateComplete.then(() => this.querySelector('button')?.focus()); }

  sending() {
    const {done, of, files, all} = this.sent;
    return html`<div class="sending"><label for="upload-bar">Sending and reading: ${count(files)} of ${plural(all, 'file')}</label>
      <progress id="upload-bar" max=${of || 1} value=${done}></progress>
      <button @click=${() => { this.sent.stop = true; }}>Stop</button></div>`;
  }

  suggesting() {
    if (!this.job) return nothing;
    const {state: how, step, of} = this.job;
    if (how === 'failed') return html`<p class="bad">The suggestions failed. “Models” says why.</p>`;
    if (how === 'succeeded') return html`<p class="good">✓ Suggestions are there.</p>`;
    if (!RUNNING.includes(how)) return nothing;
    const far = how === 'queued' ? 'waiting for a worker' : `${count(step || 0)} of ${count(of || 0)} documents`;
    return html`<div><label for="suggest-bar">Suggestions: ${far}</label>
      <progress id="suggest-bar" max=${of || 1} value=${step || 0}></progress></div>`;
  }

  how() {
    const set = (key) => (event) => { this.options[key] = event.target.type === 'checkbox' ? event.target.checked : event.target.value; };
    return html`<details><summary>How files are read</summary>
      ${field({id: 'upload-format', label: 'Format', hint: 'It is found out for each file; choose one if it is not what you meant.'},
        (a) => html`<select id=${a.id} aria-describedby=${a.by} @change=${set('format')}><option value="">Find it out</option>
          ${this.formats.map((one) => html`<option value=${one}>${FORMATS[one] ?? one}</option>`)}</select>`)}
      <label class="line"><input type="checkbox" .checked=${this.options.repair} @change=${set('repair')}>
        Mend offsets that miss their text</label>
      <p class="hint">The annotation is put where its text stands nearby; else it is left out.</p>
      ${leads() && this.its.kb_version ? html`<label class="line"><input type="checkbox" .checked=${this.options.suggest}
        @change=${set('suggest')}> Suggest mentions in new documents at once</label>` : nothing}
      ${this.earlier.length ? html`<h3>Uploads before</h3>
        <ul class="earlier-list">${this.earlier.slice(0, EARLIER).map(earlierOne)}</ul>` : nothing}
    </details>`;
  }

  render() {
    return html`<section class=${`panel drop-zone ${this.over ? 'over' : ''}`} data-panel tabindex="-1" aria-label="Upload"
      @dragover=${(event) => { if (event.dataTransfer.types.includes('Files')) { event.preventDefault(); this.over = true; } }}
      @dragleave=${(event) => { if (!event.currentTarget.contains(event.relatedTarget)) this.over = false; }} @drop=${this.drop}>
      <header><h2>Upload documents</h2></header>
      <div class="row">
        <button @click=${() => this.choose()}>Files <kbd>u</kbd></button>
        <button @click=${() => this.querySelector('#upload-folder').click()}>Folder</button>
        <button @click=${() => this.paste()}>Paste text</button></div>
      <input id="upload-files" type="file" multiple hidden aria-label="Files to upload" @change=${this.picked}>
      <input id="upload-folder" type="file" webkitdirectory hidden aria-label="Folder to upload" @change=${this.picked}>
      <p class="hint">Or drop them here: text, PubTator, BioC, brat, CoNLL and others, also zip and tar. The same file twice adds
        nothing.</p>
      <p class="wrong" role="alert">${this.wrong || nothing}</p>
      ${this.sent ? this.sending() : nothing} ${this.result && !this.sent ? this.results() : nothing} ${this.suggesting()} ${this.how()}
    </section>`;
  }
}

function errorList(errors) {
  return html`<p>${plural(errors.length, 'problem')}${errors.length > LISTED ? `, the first ${LISTED}` : ''}:</p>
    <ul class="upload-errors" tabindex="0" aria-label="What was wrong">${errors.slice(0, LISTED).map((one) => html`
      <li><strong class="doc-name">${one.file}</strong>${one.line ? `, line ${one.line}` : ''}: ${sentence(one.message.replace(`${one.file}: `, ''))}
        <span class="note">(${one.done})</span></li>`)}</ul>`;
}

function earlierOne({name, added, errors, made}) {
  const short = name.length > 60 ? `${name.slice(0, 60)}…` : name;
  const wrong = errors.length ? `, ${plural(errors.length, 'problem')}` : '';
  return html`<li><span class="doc-name">${short}</span> <span class="note">${when(made)}: ${count(added)} new${wrong}</span>
    ${wrong ? html`<details><summary>Problems</summary>${errorList(errors)}</details>` : nothing}</li>`;
}

/** Ask for a text; resolves with what the server answers, undefined if there is none. */
function pasteDialog(project, formats) {
  const draft = {text: '', name: '', format: ''};
  let wrong = {}, busy = false;
  return dialog('Paste a text', (close, redraw) => {
    const send = async () => {
      if (busy) return;
      wrong = draft.text.trim() ? {} : {text: 'There is no text yet.'};
      if (wrong.text) { redraw(); return; }
      busy = true;
      try {
        close(await api.post(`/projects/${project}/pastes`, {text: draft.text, name: draft.name.trim(), format: draft.format || null}));
      } catch (error) {
        wrong = faultsOf(error, {text: /text|paste/, name: /name/, format: /format/});
        busy = false;
        redraw();
      }
    };
    const set = (key) => (event) => { draft[key] = event.target.value; };
    return html`
      ${field({id: 'paste-text', label: 'Text', wrong: wrong.text}, (a) => html`<textarea id=${a.id} rows="10" autofocus
        .value=${draft.text} aria-describedby=${a.by} aria-invalid=${a.invalid} @input=${set('text')}></textarea>`)}
      ${field({id: 'paste-name', label: 'Name', wrong: wrong.name, hint: 'Without one it gets a name made from the text.'}, (a) => html`
        <input id=${a.id} maxlength="200" autocomplete="off" .value=${draft.name} aria-describedby=${a.by} aria-invalid=${a.invalid}
          @input=${set('name')}>`)}
      ${field({id: 'paste-format', label: 'What it is', wrong: wrong.format}, (a) => html`
        <select id=${a.id} aria-describedby=${a.by} aria-invalid=${a.invalid} @change=${set('format')}>
          <option value="">A text, one document</option>
          ${formats.map((one) => html`<option value=${one}>A file: ${FORMATS[one] ?? one}</option>`)}</select>`)}
      <p class="wrong" role="alert">${wrong[''] || nothing}</p>
      <footer><button type="button" @click=${() => close()}>Cancel</button>
        <button type="submit" class="main" @click=${send}>Add the text</button></footer>`;
  }, {wide: true});
}

customElements.define('linnet-project-upload', Upload);
