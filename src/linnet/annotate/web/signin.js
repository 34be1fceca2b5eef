// Signing in: with name and password, at a provider, by the one-time link of an invitation, or without any of it where the
// server only demonstrates.

import {api, keepSession} from './api.js';
import {entitle, html, nothing, problem, say, state, toast, View} from './base.js';
import {field, focusWrong, sentence} from './forms.js';

const SHORTEST = 10;  // characters of a password
const LINK = '#link=';
const SHOWN = 'linnet.demo';  // set once a demonstration was opened in this tab: who signs out of it stays out
const BRAND = html`<img src="icon.svg" alt="" width="48" height="48">`;

class SignIn extends View {
  static properties = {
    link: {state: true}, demo: {state: true}, provider: {state: true}, busy: {state: true}, wrong: {state: true},
    wait: {state: true}, seen: {state: true}, used: {state: true},
  };

  constructor() {
    super();
    this.link = this.provider = '';
    this.demo = this.busy = this.seen = this.used = false;
    this.wrong = {};
    this.wait = 0;
  }

  connectedCallback() {
    super.connectedCallback();
    this.readLink();
    this.on(window, 'hashchange', () => this.readLink());
    this.offers();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.clock);
  }

  readLink() {
    this.link = location.hash.startsWith(LINK) ? location.hash.slice(LINK.length) : '';
    this.used = false;
    this.wrong = {};
    entitle(this.link ? 'Set a password' : 'Sign in');
  }

  /** Ask which other ways in there are; none of them is no reason to complain. */
  async offers() {
    const [ping, provider] = await Promise.allSettled([api.get('/ping'), api.get('/oidc')]);
    this.demo = ping.value?.demo === true;
    this.provider = provider.value?.name || '';
    if (!this.demo || this.link) return;
    if (!sessionStorage.getItem(SHOWN)) { this.demonstrate(); return; }
    await this.updateComplete;
    this.querySelector('.demo-entrance button').focus();
  }

  firstUpdated() {
    this.querySelector('input')?.focus();
  }

  /** Ask for a session without a password. */
  demonstrate() {
    sessionStorage.setItem(SHOWN, 'yes');
    return this.enter(() => api.post('/session/demo'));
  }

  /** Ask for a session, and open the workbench with it. */
  async enter(ask) {
    if (this.busy || this.wait) return;
    this.busy = true;
    this.wrong = {};
    try {
      keepSession(await ask());
      const me = await api.get('/me');
      keepSession(me);
      state.me = me;
      // the link is used up, and a secret has no business in the history of a browser
      if (this.link) history.replaceState(null, '', '#/');
      dispatchEvent(new CustomEvent('linnet-signed-in'));
      if (this.link) toast(`You are signed in as ${me.name}: that is your name from now on`);
      else say(`Signed in as ${me.name}`);
    } catch (error) {
      this.refuse(error);
    }
    this.busy = false;
  }

  async refuse(error) {
    if (error.status === 429) this.pause(Number(error.more.retry) || 60);
    else if (this.link && error.status === 401) this.used = true;
    else if (this.link && error.status === 422) this.wrong = {password: sentence(error.detail || error.message)};
    else if (error.status === 401) this.wrong = {'': 'No user has this name and password. Capital letters count in both.'};
    else if (error.status === 422) this.wrong = {'': 'Name or password is too long.'};
    else this.wrong = {'': sentence(error.detail || error.message)};
    await this.updateComplete;
    if (!focusWrong(this)) this.querySelector('input[name=password]')?.select();
  }

  /** Count down until the next attempt is allowed. */
  pause(seconds) {
    this.wait = seconds;
    this.wrong = {'': `Too many failed attempts: wait ${seconds} seconds.`};
    clearInterval(this.clock);
    const until = performance.now() + seconds * 1000;
    this.clock = setInterval(() => {
      this.wait = Math.max(0, Math.ceil((until - performance.now()) / 1000));
      if (this.wait) return;
      clearInterval(this.clock);
      this.wrong = {};
      say('You can try again now');
    }, 500);
  }

  signIn(event) {
    event.preventDefault();
    const {name, password} = event.target.elements;
    this.wrong = {
      ...(name.value.trim() ? {} : {name: 'Type your name.'}),
      ...(password.value ? {} : {password: 'Type your password.'}),
    };
    if (Object.keys(this.wrong).length) { this.updateComplete.then(() => focusWrong(this)); return; }
    this.enter(() => api.post('/session', {name: name.value, password: password.value}));
  }

  setPassword(event) {
    event.preventDefault();
    const {password, again} = event.target.elements;
    const length = [...password.value].length;
    if (length < SHORTEST) this.wrong = {password: `This has ${length} of at least ${SHORTEST} characters.`};
    else if (password.value !== again.value) this.wrong = {again: 'The two are not the same: type it again.'};
    else { this.enter(() => api.post('/session/password', {link: this.link, password: password.value})); return; }
    this.updateComplete.then(() => focusWrong(this));
  }

  async toProvider() {
    try {
      const {url} = await api.post('/oidc', {link: this.link});
      location.assign(url);
    } catch (error) {
      problem(error);
    }
  }

  // --- what is drawn ------------------------------------------------------------------------------------------------

  password({id, name, label, hint, complete}) {
    return field({id, label, hint, wrong: this.wrong[name]}, (a) => html`
      <input id=${a.id} name=${name} type=${this.seen ? 'text' : 'password'} autocomplete=${complete} required
        aria-describedby=${a.by} aria-invalid=${a.invalid} spellcheck="false" autocapitalize="none">`);
  }

  seeing() {
    return html`<label class="line"><input type="checkbox" .checked=${this.seen}
      @change=${(event) => { this.seen = event.target.checked; }}> Show what I type</label>`;
  }

  told() {
    return html`<p class="wrong" role="alert">${this.wrong[''] || nothing}</p>`;
  }

  other() {
    if (!this.provider) return nothing;
    return html`<p class="or">or</p>
      <button type="button" @click=${() => this.toProvider()}>Sign in with ${this.provider}</button>`;
  }

  demonstration() {
    return html`<section class="demo-entrance">
      <p>This server demonstrates Linnet with notes that were made up. It needs no password: only this machine reaches it.</p>
      <button type="button" class="main" @click=${() => this.demonstrate()}>Open the demonstration</button>
      <p class="or">or sign in</p>
    </section>`;
  }

  byPassword() {
    return html`${BRAND}<h1>Sign in to Linnet</h1>
      ${this.demo ? this.demonstration() : nothing}
      <form novalidate @submit=${this.signIn}>
        ${field({id: 'signin-name', label: 'Name', wrong: this.wrong.name}, (a) => html`
          <input id=${a.id} name="name" autocomplete="username" required aria-describedby=${a.by} aria-invalid=${a.invalid}
            spellcheck="false" autocapitalize="none">`)}
        ${this.password({id: 'signin-password', name: 'password', label: 'Password', complete: 'current-password'})}
        ${this.seeing()} ${this.told()}
        <button type="submit" class="main" ?disabled=${this.wait > 0}>
          ${this.wait ? `Sign in, in ${this.wait} s` : this.busy ? 'Signing in…' : 'Sign in'}</button>
      </form>
      ${this.other()}
      <p class="note">No password yet, or forgotten? An administrator of this server gives you a link that sets one.</p>`;
  }

  byLink() {
    return html`${BRAND}<h1>Welcome to Linnet</h1>
      <p>Choose a password. You sign in with it from now on; this link works only once.</p>
      <form novalidate @submit=${this.setPassword}>
        ${this.password({id: 'link-password', name: 'password', label: 'Password', complete: 'new-password',
          hint: `At least ${SHORTEST} characters. A short sentence is good and easy to keep in mind; no signs or digits are asked for.`})}
        ${this.password({id: 'link-again', name: 'again', label: 'The same password again', complete: 'new-password'})}
        ${this.seeing()} ${this.told()}
        <button type="submit" class="main">${this.busy ? 'Saving…' : 'Set the password and begin'}</button>
      </form>
      ${this.other()}`;
  }

  usedUp() {
    return html`<h1>This link does not work any more</h1>
      <p role="alert">It was used before, it is older than a day, or a newer one was made. What to do:</p>
      <ul>
        <li>You have set your password already: <a href="#/">sign in</a> with it.</li>
        <li>You have not: ask who invited you for a new link.</li>
        <li>You run the server, and nobody has a password yet: start it again, and it prints a new link.</li>
      </ul>`;
  }

  render() {
    return html`<div class="entrance">${!this.link ? this.byPassword() : this.used ? this.usedUp() : this.byLink()}</div>`;
  }
}

customElements.define('linnet-signin', SignIn);
