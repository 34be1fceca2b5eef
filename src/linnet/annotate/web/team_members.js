// The members of a project and their roles, which its admins change.

import {api} from './api.js';
import {confirm, go, html, live, nothing, openProject, problem, repeat, say, state, toast, View} from './base.js';
import {faultsOf, field, focusWrong} from './forms.js';

const ROLES = [
  ['viewer', 'Viewer', 'reads what is visible'],
  ['annotator', 'Annotator', 'also uploads, draws documents and decides on them'],
  ['curator', 'Curator', 'also gives documents to people, adjudicates, trains, exports, sees agreement'],
  ['admin', 'Admin', 'also changes settings and members, erases texts'],
];
const titleOf = (role) => ROLES.find(([name]) => name === role)[1];

class Members extends View {
  static properties = {project: {type: Number}, people: {state: true}, wrong: {state: true}, busy: {state: true}};

  constructor() {
    super();
    this.people = [];
    this.wrong = {};
    this.busy = false;
  }

  connectedCallback() {
    super.connectedCallback();
    this.listen((kind) => { if (['member', 'reset'].includes(kind)) this.refresh(); });
    if (this.changes && state.me.admin) api.get('/users').then((found) => { this.people = found; }).catch(problem);
  }

  get changes() { return this.its.role === 'admin'; }

  /** Read the project again: its members, and what I may do in it. */
  async refresh() {
    try {
      await openProject(this.project, {again: true});
    } catch (error) {
      problem(error);
      if (error.status === 404) go('#/');  // I am no member any more
      return;
    }
    dispatchEvent(new CustomEvent('linnet-changed'));
    this.requestUpdate();
  }

  isLastAdmin(one) {
    return one.role === 'admin' && this.its.members.filter((other) => other.role === 'admin').length === 1;
  }

  async add(event) {
    event.preventDefault();
    const form = event.target;
    const name = form.elements.name.value.trim(), role = form.elements.role.value;
    this.wrong = name ? {} : {name: 'Type the name that the person signs in with.'};
    if (name && !this.busy) {
      this.busy = true;
      try {
        const known = this.people.find((one) => one.name === name)?.user ?? name;
        const made = await api.put(`/projects/${this.project}/members/${encodeURIComponent(known)}`, {role});
        toast(`${made.name} is ${titleOf(role).toLowerCase()}`);
        form.reset();
        await this.refresh();
      } catch (error) {
        this.wrong = faultsOf(error, {name: /./});
      }
      this.busy = false;
    }
    if (this.wrong.name) this.updateComplete.then(() => focusWrong(this));
  }

  async change(one, role) {
    const own = one.user === state.me.user;
    const text = 'You can then no longer change members and settings of this project.';
    const sure = !own || await confirm('Give up your own role?', text, `Become ${titleOf(role).toLowerCase()}`);
    if (sure) {
      const done = await this.tell(() => api.put(`/projects/${this.project}/members/${one.user}`, {role}));
      if (done) say(`${one.name} is ${titleOf(role).toLowerCase()}`);
    }
    await this.refresh();
  }

  async end(one) {
    const text = `${one.name} no longer sees the project. What they decided stays, with their name.`;
    if (!await confirm(`Remove ${one.name} from the project?`, text, 'Remove')) return;
    await this.tell(async () => {
      await api.delete(`/projects/${this.project}/members/${one.user}`);
      toast(`${one.name} is no longer a member`);
      if (one.user === state.me.user) { go('#/'); return; }
      await this.refresh();
      this.closest('[data-panel]').focus();  // the button that was pressed is gone
    });
  }

  // --- drawing --------------------------------------------------------------------------------------------------------

  render() {
    const {members} = this.its;
    return html`<section class="panel">
      <header><h2>Members and roles</h2></header>
      ${this.changes ? this.drawForm() : html`<p class="note">Admins of the project change this.</p>`}
      <div class="scroll" tabindex="0" role="region" aria-label="Table of members"><table>
        <thead><tr><th scope="col">Name</th><th scope="col">Role</th>
          ${this.changes ? html`<th scope="col">Change</th>` : nothing}</tr></thead>
        <tbody>${repeat(members, (one) => one.user, (one) => this.drawRow(one))}</tbody></table></div>
      <details><summary>What each role may do</summary>
        <dl class="roles">${ROLES.map(([, title, text]) => html`<dt>${title}</dt><dd>${text}</dd>`)}</dl></details>
    </section>`;
  }

  drawForm() {
    const others = this.people.filter((one) => !one.disabled && !this.its.members.some((member) => member.user === one.user));
    const hint = state.me.admin ? html`Somebody new is invited first, <a href="#/">under “Projects”</a>.`
      : 'An administrator of the server invites those who have no account yet.';
    return html`<form class="row add-member" novalidate @submit=${this.add}>
      ${field({id: 'member-name', label: 'Add a person', wrong: this.wrong.name || this.wrong['']}, (a) => html`
        <input id=${a.id} name="name" maxlength="500" autocomplete="off" list="people" aria-describedby=${a.by} aria-invalid=${a.invalid}>
        <datalist id="people">${others.map((one) => html`<option value=${one.name}></option>`)}</datalist>`)}
      <div class="field"><label for="member-role">Role</label>
        <select id="member-role" name="role">${ROLES.map(([name, title]) => html`
          <option value=${name} ?selected=${name === 'annotator'}>${title}</option>`)}</select></div>
      <button type="submit" class="main">Add</button>
    </form><p class="note">${hint}</p>`;
  }

  drawRow(one) {
    const last = this.isLastAdmin(one);
    return html`<tr>
      <th scope="row">${one.name}${one.user === state.me.user ? html` <span class="note">(you)</span>` : nothing}
        ${one.disabled ? html` <span class="chip bad">disabled</span>` : nothing}</th>
      <td>${this.changes && !last ? this.drawChoice(one) : titleOf(one.role)}</td>
      ${this.changes ? html`<td>${last ? html`<small>The only admin: a project keeps one. Make somebody else an admin first.</small>`
        : html`<button @click=${() => this.end(one)}>Remove<span class="unseen"> ${one.name}</span></button>`}</td>` : nothing}
    </tr>`;
  }

  drawChoice(one) {
    return html`<select aria-label=${`Role of ${one.name}`} .value=${live(one.role)}
      @change=${(event) => this.change(one, event.target.value)}>
      ${ROLES.map(([name, title]) => html`<option value=${name} ?selected=${name === one.role}>${title}</option>`)}</select>`;
  }
}

customElements.define('linnet-members', Members);
