// Taking home what was decided: documents in a format, or all that ever was decided; and bringing in such a history.

import {api} from './api.js';
import {confirm, count, html, nothing, plural, View} from './base.js';
import {field, sentence} from './forms.js';

const FORMATS = {  // those that are written, the usual ones first
  jsonl: 'JSON Lines: all that Linnet knows, nothing lost',
  bioc: 'BioC XML: the exchange format of biomedical text mining',
  bioc_json: 'BioC JSON',
  pubtator: 'PubTator: title and abstract, a line for each mention',
  brat: 'brat: a text and a file of annotations for each document',
  texoo: 'TrainX / TeXoo JSON',
  csv: 'CSV for spreadsheets: a row for each mention',
  conll: 'CoNLL: a token a line, for taggers',
  gsc: 'GSC+: as the gold standard of the HPO',
  bigbio: 'BigBIO JSON',
  spacy: 'spaCy DocBin',
  html: 'HTML: a page for people to read',
};

class Export extends View {
  static properties = {project: {type: Number}, busy: {state: true}, told: {state: true}, wrong: {state: true}};

  constructor() {
    super();
    this.format = 'jsonl';
    this.busy = this.told = this.wrong = '';
  }

  /** Fetch a file and hand it to the browser's downloads; what its format cannot hold is told. */
  async save(path, name) {
    if (this.busy) return;
    this.busy = name;
    this.told = this.wrong = '';
    try {
      const answer = await fetch(api.url(`/projects/${this.project}/${path}`), {credentials: 'same-origin'});
      if (!answer.ok) throw new Error((await answer.json()).detail || `the server answers ${answer.status}`);
      const file = fileName(answer) || name;
      download(await answer.blob(), file);
      this.told = `${file} is in your downloads. ${leftOut(answer.headers.get('Linnet-Left-Out'))}`;
    } catch (error) {
      this.wrong = error instanceof TypeError ? 'There is no connection to the server: try again.' : sentence(error.message);
    }
    this.busy = '';
  }

  /** Bring in a history that was saved here or on another server. */
  async take(event) {
    const [file] = event.target.files;
    event.target.value = '';
    const text = `All documents and decisions of ${file?.name} are added. What is there already is left as it is.`;
    if (!file || !await confirm('Bring in a history?', text, 'Bring it in')) return;
    this.busy = 'history';
    this.told = this.wrong = '';
    try {
      const {events} = await api.send(`/projects/${this.project}/history`, new Blob([file], {type: 'application/x-ndjson'}));
      this.told = `${plural(events, 'event')} added.`;
    } catch (error) {
      this.wrong = sentence(error.detail || error.message);
    }
    this.busy = '';
  }

  render() {
    const admin = this.its.role === 'admin' && !this.its.archived;
    return html`<section class="panel" data-panel tabindex="-1" aria-label="Export">
      <header><h2>Export</h2></header>
      ${field({id: 'export-format', label: 'Format',
        hint: 'What your people agree on and what curators settled. What a format cannot hold is told.'}, (a) => html`
        <select id=${a.id} aria-describedby=${a.by} @change=${(event) => { this.format = event.target.value; }}>
          ${Object.entries(FORMATS).map(([id, label]) => html`<option value=${id}>${label}</option>`)}</select>`)}
      <div class="row"><button aria-disabled=${Boolean(this.busy)} @click=${() => this.save(`exports/${this.format}`, this.format)}>
          ${this.busy && this.busy !== 'history' ? 'Writing…' : 'Save the documents'}</button>
        <button aria-disabled=${Boolean(this.busy)}
          @click=${() => this.save('history', 'history.jsonl')}>Save the whole history</button></div>
      <p class="hint">The history holds every decision that was ever made, by whom and when.</p>
      ${admin ? html`<button @click=${() => this.querySelector('#history-file').click()}>Bring in a history…</button>
        <input id="history-file" type="file" hidden aria-label="History to bring in" accept=".jsonl,.ndjson"
          @change=${this.take}>` : nothing}
      <p class="done-note" role="status">${this.told || nothing}</p>
      <p class="wrong" role="alert">${this.wrong || nothing}</p>
    </section>`;
  }
}

function fileName(answer) {
  const said = answer.headers.get('Content-Disposition') || '';
  const coded = /filename\*=utf-8''([^;]+)/i.exec(said);
  return coded ? decodeURIComponent(coded[1]) : /filename="([^"]+)"/.exec(said)?.[1];
}

function download(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** Return what a format could not hold, as a sentence. */
function leftOut(header) {
  const {'document ids changed': numbered, ...lost} = JSON.parse(header || '{}');
  const found = Object.entries(lost).map(([what, times]) => `${what} (${count(times)})`);
  return [
    numbered ? `Of documents with the same id, the later ones are numbered: ${count(numbered)}.` : '',
    found.length ? `The format cannot hold: ${found.join(', ')}.` : '',
  ].filter(Boolean).join(' ');
}

customElements.define('linnet-project-export', Export);
