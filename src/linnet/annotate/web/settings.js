// What somebody sets for themselves: how this browser shows things, the keys, the password, tokens of programs.

import {api, keepSession} from './api.js';
import {confirm, entitle, html, nothing, remembered, repeat, say, state, toast, View, when} from './base.js';
import {about, faultsOf, field, focusWrong, heads, keepFocus, secretBox, sentence} from './forms.js';
import './settings_keys.js';

const THEMES = {auto: 'As the system', light: 'Light', dark: 'Dark'};
const SIZES = [13, 28, 17], LANES = [0.8, 1.6, 1];  // least, most, usual
const SHORTEST = 10;
const SCOPES = {read: 'read: look at everything you see', write: 'write: work on documents', manage: 'manage: settings, people, tokens'};

/** Keep a choice of this browser, and put it in place. */
function dress(key, value) {
  remembered.set(key, value);
  dispatchEvent(new CustomEvent('linnet-dressed'));
}

class Settings extends View {
  connectedCallback() {
    super.connectedCallback();
    entitle('Settings');
  }

  slider(key, label, [least, most, usual], step, unit) {
    const value = remembered.get(key, usual);
    return field({id: `set-${key}`, label}, (a) => html`<div class="row">
      <input id=${a.id} type="range" min=${least} max=${most} step=${step} .value=${String(value)} aria-valuetext=${`${value}${unit}`}
        @input=${(event) => { dress(key, event.target.valueAsNumber); this.requestUpdate(); }}>
      <output for=${a.id}>${value}${unit}</output>
      <button type="button" @click=${() => { dress(key, usual); this.requestUpdate(); }}>Usual${about(label)}</button></div>`);
  }

  looks() {
    const theme = remembered.get('theme', 'auto');
    return html`<section class="panel" data-panel tabindex="-1" aria-label="Appearance">
      <header><h2>Appearance</h2></header>
      <p class="note">Kept in this browser.</p>
      <fieldset><legend>Colours</legend><div class="row">${Object.entries(THEMES).map(([value, label]) => html`
        <label class="line"><input type="radio" name="theme" .checked=${value === theme}
          @change=${() => { dress('theme', value); this.requestUpdate(); }}> ${label}</label>`)}</div></fieldset>
      ${this.slider('size', 'Size of the text of documents', SIZES, 1, ' px')}
      ${this.slider('lane', 'Distance of lines, for the marks between them', LANES, 0.1, ' ×')}
      ${sample()}
      <label class="line"><input type="checkbox" .checked=${remembered.get('show-p', true)}
        @change=${(event) => { remembered.set('show-p', event.target.checked); this.requestUpdate(); }}>
        Show how probable a suggestion is</label>
      <p class="hint">A number can sway whoever reads it; without it you judge by the text alone.</p>
    </section>`;
  }

  render() {
    return html`<h1>Settings</h1>
      <div class="settings-grid">
        ${this.looks()}
        <linnet-keys></linnet-keys>
        <linnet-password></linnet-password>
        <linnet-tokens></linnet-tokens>
      </div>`;
  }
}

/** Draw a line of text with a mark of each source. */
function sample() {
  const p = remembered.get('show-p', true) ? 'P.81' : 'P';
  const mark = (layer, text, label) => html`<mark class=${layer}>
    <span class=${`line lane-0 ${layer}`} data-label=${label}>${text}</span></mark>`;
  return html`<div class="text mark-sample" role="img" aria-label="A line with marks: gold, decided by you, suggested, unsure">
    <p class="passage">Boy with ${mark('gold', 'short stature', 'G')}, ${mark('user', 'epilepsy', 'U')},
      ${mark('pred', 'hypotonia', p)} and ${mark('unsure', 'odd gait', '?')} since birth.</p></div>`;
}

class Password extends View {
  static properties = {wrong: {state: true}, busy: {state: true}, seen: {state: true}};

  constructor() {
    super();
    this.wrong = {};
    this.busy = this.seen = false;
  }

  async change(event) {
    event.preventDefault();
    const form = event.target, {old, fresh, again, keep} = form.elements;
    const length = [...fresh.value].length;
    if (!old.value) return this.refuse({old: 'Type the password that you have now.'});
    if (length < SHORTEST) return this.refuse({fresh: `This has ${length} of at least ${SHORTEST} characters.`});
    if (fresh.value !== again.value) return this.refuse({again: 'The two are not the same: type it again.'});
    if (this.busy) return undefined;
    this.busy = true;
    this.wrong = {};
    const name = state.me.name;
    try {
      // a new session first: a wrong password is refused there without the end of this one
      keepSession(await api.post('/session', {name, password: old.value}));
      await api.patch('/me', {old: old.value, new: fresh.value, keep_tokens: keep.checked});
      keepSession(await api.post('/session', {name, password: fresh.value}));
      form.reset();
      toast('Your password is changed, and you are signed in with it', {kind: 'good'});
    } catch (error) {
      const wrongOld = error.status === 401 && 'This is not your password now. Capital letters count.';
      this.refuse(error.status === 429 || wrongOld ? {old: wrongOld || sentence(error.detail)} : faultsOf(error, {fresh: /password/}));
    }
    this.busy = false;
    return undefined;
  }

  refuse(wrong) {
    this.wrong = wrong;
    this.updateComplete.then(() => focusWrong(this));
  }

  password(name, label, complete, hint) {
    return field({id: `password-${name}`, label, hint, wrong: this.wrong[name]}, (a) => html`
      <input id=${a.id} name=${name} type=${this.seen ? 'text' : 'password'} autocomplete=${complete} spellcheck="false"
        autocapitalize="none" aria-describedby=${a.by} aria-invalid=${a.invalid}>`);
  }

  render() {
    return html`<section class="panel" data-panel tabindex="-1" aria-label="Password">
      <header><h2>Password</h2></header>
      <form novalidate @submit=${this.change}>
        <input class="unseen" name="username" autocomplete="username" .value=${state.me.name} tabindex="-1" aria-hidden="true" readonly>
        ${this.password('old', 'Password now', 'current-password')}
        ${this.password('fresh', 'New password', 'new-password', `At least ${SHORTEST} characters; a short sentence is good.`)}
        ${this.password('again', 'The new password again', 'new-password')}
        <label class="line"><input type="checkbox" .checked=${this.seen}
          @change=${(event) => { this.seen = event.target.checked; }}> Show what I type</label>
        <label class="line"><input type="checkbox" name="keep"> Keep my API tokens</label>
        <p class="hint">All your sessions in other browsers end. Tokens end too unless you keep them.</p>
        <p class="wrong" role="alert">${this.wrong[''] || nothing}</p>
        <button type="submit">${this.busy ? 'Changing…' : 'Change the password'}</button>
      </form></section>`;
  }
}

class Tokens extends View {
  static properties = {found: {state: true}, given: {state: true}, wrong: {state: true}};

  constructor() {
    super();
    this.found = this.given = null;
    this.wrong = {};
  }

  connectedCallback() {
    super.connectedCallback();
    this.load();
  }

  async load() {
    const found = await this.tell(() => api.get('/tokens'));
    if (found) this.found = found;
  }

  async make(event) {
    event.preventDefault();
    const form = event.target, {name, days} = form.elements;
    const scopes = Object.keys(SCOPES).filter((one) => form.elements[one].checked);
    this.wrong = {
      ...(name.value.trim() ? {} : {name: 'Name the program that is to use it.'}),
      ...(scopes.length ? {} : {scopes: 'Choose what it may do.'}),
      ...(days.validity.valid ? {} : {days: 'A number of days from 1 to 3,650, or nothing.'}),
    };
    if (!Object.keys(this.wrong).length) await this.ask(form, {name: name.value.trim(), scopes, days: Number(days.value) || null});
    await this.updateComplete;
    focusWrong(this);
  }

  async ask(form, wish) {
    try {
      this.given = await api.post('/tokens', wish);
      form.reset();
      say('Here is the token. It is shown once.');
      await this.load();
      await this.updateComplete;
      this.querySelector('.secret input')?.focus();
    } catch (error) {
      this.wrong = faultsOf(error, {name: /name/, scopes: /scope/, days: /days/});
    }
  }

  async revoke(one) {
    if (!await confirm(`Revoke “${one.name}”?`, 'Programs that use it are refused from now on.', 'Revoke')) return;
    if (await this.tell(async () => { await api.delete(`/tokens/${one.token}`); return true; })) say(`The token ${one.name} is revoked`);
    this.given = null;
    await this.load();
    await this.updateComplete;
    keepFocus(this, 'td button');
  }

  row(one) {
    return html`<tr><th scope="row">${one.name}</th><td>${one.scopes.join(', ')}</td><td>${when(one.made)}</td>
      <td>${one.expires ? when(one.expires) : 'never'}</td>
      <td><button @click=${() => this.revoke(one)}>Revoke${about(one.name)}</button></td></tr>`;
  }

  list() {
    if (!this.found?.length) return html`<p class="note">${this.found ? 'You have none.' : 'Reading…'}</p>`;
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Table of tokens"><table>
      <thead>${heads('Name', 'May', 'Made', 'Ends', 'Change')}</thead>
      <tbody>${repeat(this.found, (one) => one.token, (one) => this.row(one))}</tbody></table></div>`;
  }

  render() {
    return html`<section class="panel" data-panel tabindex="-1" aria-label="API tokens">
      <header><h2>API tokens</h2></header>
      <p class="note">A program sends one instead of your password, and may then do what you may, within what you allow it here.</p>
      ${this.list()}
      ${this.given ? html`<div class="given" role="group" aria-label="New token">
        ${secretBox('given-token', `Token “${this.given.name}”`, this.given.secret)}
        <p class="note">It is shown only now. Keep it as safe as a password.</p>
        <button type="button" @click=${() => { this.given = null; }}>I have it</button></div>` : nothing}
      <h3>Make a token</h3>
      <form novalidate @submit=${this.make}>
        ${field({id: 'token-name', label: 'What it is for', wrong: this.wrong.name}, (a) => html`
          <input id=${a.id} name="name" maxlength="200" autocomplete="off" aria-describedby=${a.by} aria-invalid=${a.invalid}>`)}
        <fieldset aria-describedby=${this.wrong.scopes ? 'scopes-wrong' : nothing}><legend>It may</legend>
          ${Object.entries(SCOPES).map(([name, label]) => html`<label class="line">
            <input type="checkbox" name=${name} ?checked=${name === 'read'}
              aria-invalid=${this.wrong.scopes ? 'true' : nothing}> ${label}</label>`)}
          ${this.wrong.scopes ? html`<p class="wrong" id="scopes-wrong">${this.wrong.scopes}</p>` : nothing}</fieldset>
        ${field({id: 'token-days', label: 'Days that it is good', wrong: this.wrong.days, hint: 'Nothing: until you revoke it.'},
          (a) => html`<input id=${a.id} name="days" type="number" min="1" max="3650" value="90" aria-describedby=${a.by}
            aria-invalid=${a.invalid}>`)}
        <p class="wrong" role="alert">${this.wrong[''] || nothing}</p>
        <button type="submit">Make the token</button>
      </form></section>`;
  }
}

customElements.define('linnet-settings', Settings);
customElements.define('linnet-password', Password);
customElements.define('linnet-tokens', Tokens);
