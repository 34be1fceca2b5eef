// The keys, as somebody wants them: another key, several, or none; what clashes is told at once.

import {confirm, html, nothing, say, View} from './base.js';
import {about} from './forms.js';
import {CONTEXTS, keysOf, nameOf, remap, shown, TABLE} from './keys.js';

const SECOND = 1000;  // milliseconds that the second key of a pair may take
const MODIFIERS = ['Shift', 'Control', 'Alt', 'Meta', 'AltGraph'];
const FIXED = ['choose'];  // its keys are numbers of candidates

const original = (id) => TABLE.find((one) => one.id === id).keys;
const isChanged = (id) => String(keysOf(id)) !== String(original(id));
const isLetter = (key) => key.split(' ').every((one) => one.length <= 1);

class Keys extends View {
  static properties = {asking: {state: true}, wrong: {state: true}};

  constructor() {
    super();
    this.asking = '';  // the action that waits for a key
    this.wrong = {};
    this.first = '';
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.timer);
  }

  /** Give an action other keys; a clash is a sentence beside it. */
  set(id, keys, told) {
    try {
      if (keys === null) remap(id, original(id));  // another action may have taken one of them meanwhile
      remap(id, keys);
      this.wrong = {};
      say(told);
    } catch (error) {
      this.wrong = {[id]: `${error.message}. Take another key, or change that one first.`};
    }
    this.asking = '';
    this.updateComplete.then(() => this.querySelector(`[data-add="${id}"]`)?.focus());
  }

  ask(id) {
    this.asking = this.asking === id ? '' : id;
    this.first = '';
    this.wrong = {};
  }

  /** Take what is pressed while an action waits for a key. */
  press(event, id) {
    if (this.asking !== id || MODIFIERS.includes(event.key)) return;
    if (event.key === 'Tab') { this.asking = ''; return; }
    event.preventDefault();
    event.stopPropagation();
    clearTimeout(this.timer);
    const key = nameOf(event);
    if (key === 'Escape' && !this.first) { this.asking = ''; return; }
    const pair = this.first && `${this.first} ${key}`;
    this.first = key;
    if (pair) this.take(id, pair);
    else if (isLetter(key) && key !== ' ') this.timer = setTimeout(() => this.take(id, key), SECOND);
    else this.take(id, key);
    this.requestUpdate();
  }

  take(id, key) {
    this.first = '';
    if (this.asking !== id) return;
    const before = keysOf(id);
    this.set(id, before.includes(key) ? before : [...before, key], `${shown(key)} does it now`);
  }

  async noLetters() {
    const yes = await confirm('Switch off all single letters and digits?',
      'For speech input, or where keys are pressed by mistake. All actions stay within reach of buttons and of Ctrl+K.', 'Switch off');
    if (!yes) return;
    for (const {id} of TABLE) {
      const left = keysOf(id).filter((key) => !isLetter(key));
      if (left.length < keysOf(id).length) remap(id, left);
    }
    this.wrong = {};
    say('All single letters and digits are switched off');
  }

  async allBack() {
    if (!await confirm('All keys back to what they were?', 'All changes of keys in this browser are forgotten.', 'Back')) return;
    for (const {id} of TABLE) remap(id, null);
    this.wrong = {};
    say('All keys are as they were');
    this.requestUpdate();
  }

  // --- what is drawn ------------------------------------------------------------------------------------------------

  chip(id, key, label) {
    return html`<span class="key-chip"><kbd>${shown(key)}</kbd>${FIXED.includes(id) ? nothing : html`<button class="quiet"
      aria-label=${`Switch off ${shown(key)} for: ${label}`} title="Switch this key off"
      @click=${() => this.set(id, keysOf(id).filter((one) => one !== key), `${shown(key)} is switched off`)}>✕</button>`}</span>`;
  }

  toggle(id, keys, label) {
    const on = keys.length > 0;
    return html`<button data-add=${id} @click=${() => this.set(id, on ? [] : original(id), on ? 'Switched off' : 'Switched on')}>
      ${on ? 'Switch off' : 'Switch on'}${about(label)}</button>`;
  }

  row({id, label}) {
    const keys = keysOf(id), asking = this.asking === id;
    const hint = this.first ? `${shown(this.first)} … a second key makes a pair` : 'Press a key; Esc cancels';
    return html`<tr>
      <th scope="row">${label}</th>
      <td><div class="row tight">${keys.length ? keys.map((key) => this.chip(id, key, label)) : html`<span class="note">off</span>`}
        ${FIXED.includes(id) ? this.toggle(id, keys, label) : html`
          <button data-add=${id} class=${asking ? 'main' : ''} aria-pressed=${asking} @click=${() => this.ask(id)}
            @keydown=${(event) => this.press(event, id)} @blur=${() => { if (this.asking === id) this.asking = ''; }}>
            ${asking ? hint : '+ key'}${asking ? nothing : about(label)}</button>`}
        ${isChanged(id) ? html`<button @click=${() => this.set(id, null, 'As it was')}>Default${about(label)}</button>` : nothing}
      </div>
      ${this.wrong[id] ? html`<p class="wrong" role="alert">${this.wrong[id]}</p>` : nothing}</td></tr>`;
  }

  render() {
    const own = (context) => TABLE.filter((one) => one.context === context);
    return html`<section class="panel" data-panel tabindex="-1" aria-label="Keys">
      <header><h2>Keys</h2>
        <button @click=${() => this.noLetters()}>Switch off single letters</button>
        <button @click=${() => this.allBack()}>All back to default</button></header>
      <p class="note">An action may have several keys, or none. Kept in this browser; letters act only while text or list has the focus.</p>
      ${Object.entries(CONTEXTS).filter(([context]) => own(context).length).map(([context, title]) => html`
        <details ?open=${context === 'anywhere'}><summary><h3>${title}</h3></summary>
          <div class="scroll" tabindex="0" role="region" aria-label=${`Keys: ${title}`}><table class="keys-table">
            <thead class="unseen"><tr><th scope="col">Action</th><th scope="col">Keys</th></tr></thead>
            <tbody>${own(context).map((one) => this.row(one))}</tbody></table></div></details>`)}
    </section>`;
  }
}

customElements.define('linnet-keys', Keys);
