// The people of a server, for its administrators: invite, disable, give a new link.

import {api} from './api.js';
import {confirm, html, nothing, repeat, say, state, View, when} from './base.js';
import {about, faultsOf, field, focusWrong, heads, keepFocus, secretBox} from './forms.js';

const addressOf = (link) => `${location.origin}${location.pathname}#link=${link}`;

class Users extends View {
  static properties = {found: {state: true}, wrong: {state: true}, given: {state: true}, busy: {state: true}};

  constructor() {
    super();
    this.found = null;
    this.given = null;
    this.wrong = {};
    this.busy = false;
  }

  connectedCallback() {
    super.connectedCallback();
    this.load();
  }

  async load() {
    const found = await this.tell(() => api.get('/users'));
    if (found) this.found = found;
  }

  async invite(event) {
    event.preventDefault();
    const form = event.target, {name, admin} = form.elements;
    if (this.busy) return;
    this.wrong = name.value.trim() ? {} : {name: 'Type the name that the person is to sign in with.'};
    if (this.wrong.name) { this.updateComplete.then(() => focusWrong(this)); return; }
    this.busy = true;
    try {
      this.given = await api.post('/users', {name: name.value.trim(), admin: admin.checked});
      form.reset();
      this.showLink();
      await this.load();
    } catch (error) {
      this.wrong = faultsOf(error, {name: /./});
      this.updateComplete.then(() => focusWrong(this));
    }
    this.busy = false;
  }

  async showLink() {
    say(`Here is the link for ${this.given.name}. It is shown once.`);
    await this.updateComplete;
    this.querySelector('.secret input')?.focus();
  }

  async change(user, body) {
    const answer = await this.tell(() => api.patch(`/users/${user.user}`, body));
    if (!answer) return;
    await this.load();
    await this.updateComplete;
    keepFocus(this, `[data-user="${user.user}"] button`);
    if (answer.link) { this.given = answer; this.showLink(); }
  }

  async disable(user) {
    const text = 'They cannot sign in any more, and their open sessions and tokens end. What they decided stays.';
    const yes = await confirm(`Disable ${user.name}?`, text, 'Disable');
    if (yes) { await this.change(user, {disabled: true}); say(`${user.name} is disabled`); }
  }

  async newLink(user) {
    const yes = !user.has_password || await confirm(`A new link for ${user.name}?`,
      'They set a new password with it; the old one works until then.', 'Make a link');
    if (yes) await this.change(user, {link: true});
  }

  async makeAdmin(user) {
    const text = user.admin ? 'They keep their roles in projects.' : 'They may then make projects, invite people and disable them.';
    const yes = await confirm(`${user.admin ? 'No administrator any more' : 'Make an administrator'}: ${user.name}?`, text, 'Yes');
    if (yes) await this.change(user, {admin: !user.admin});
  }

  // --- what is drawn ------------------------------------------------------------------------------------------------

  row(one) {
    const me = one.user === state.me.user;
    const how = one.disabled ? 'disabled' : one.has_password ? 'active' : 'no password yet';
    const button = (label, run) => html`<button @click=${run}>${label}${about(one.name)}</button>`;
    return html`<tr data-user=${one.user}>
      <th scope="row">${one.name}${me ? html` <span class="note">(you)</span>` : nothing}</th>
      <td>${one.admin ? 'administrator' : '–'}</td>
      <td class=${one.disabled ? 'bad' : ''}>${how}</td>
      <td>${when(one.made)}</td>
      <td><div class="row tight">
        ${one.disabled ? nothing : button('New link', () => this.newLink(one))}
        ${me ? nothing : one.disabled ? button('Let in again', () => this.change(one, {disabled: false})) : [
          button('Disable', () => this.disable(one)),
          button(one.admin ? 'Take administration' : 'Make administrator', () => this.makeAdmin(one))]}
      </div></td></tr>`;
  }

  link() {
    if (!this.given) return nothing;
    return html`<div class="given" role="group" aria-label="New link">
      ${secretBox('given-link', `Link for ${this.given.name}`, addressOf(this.given.link))}
      <p class="note">Hand it over safely, not by a public channel: whoever opens it sets the password. It works once, within a day, and is
        shown only now.</p>
      <button type="button" @click=${() => { this.given = null; }}>I have it</button>
    </div>`;
  }

  render() {
    return html`<section class="panel" data-panel tabindex="-1" aria-label="People">
      <header><h2>People</h2></header>
      <p class="note">Everybody who may sign in to this server. In a project, its admins choose under “Team” who takes part and in which
        role.</p>
      <form class="row invite" novalidate @submit=${this.invite}>
        ${field({id: 'invite-name', label: 'Invite somebody by name', wrong: this.wrong.name || this.wrong['']}, (a) => html`
          <input id=${a.id} name="name" maxlength="500" autocomplete="off" aria-describedby=${a.by} aria-invalid=${a.invalid}>`)}
        <label class="line"><input type="checkbox" name="admin"> as administrator of the server</label>
        <button type="submit">Invite</button>
      </form>
      ${this.link()}
      ${this.found ? html`<div class="scroll" tabindex="0" role="region" aria-label="Table of people"><table>
          <thead>${heads('Name', 'Server', 'State', 'Since', 'Change')}</thead>
          <tbody>${repeat(this.found, (one) => one.user, (one) => this.row(one))}</tbody></table></div>`
        : html`<p role="status">Reading…</p>`}
    </section>`;
  }
}

customElements.define('linnet-users', Users);
