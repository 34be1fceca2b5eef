// Concepts that people miss in the knowledge base: curators accept or decline them, or say which concept they are.

import {api} from './api.js';
import {dialog, html, leads, nothing, plural, repeat, toast, View, when} from './base.js';
import {learn, nameOf} from './names.js';
import './picker.js';

const WORDS = {open: 'waits', accepted: 'accepted', declined: 'declined', mapped: 'is a concept of the knowledge base'};

class Proposals extends View {
  static properties = {project: {type: Number}, found: {state: true}};

  constructor() {
    super();
    this.found = null;
  }

  connectedCallback() {
    super.connectedCallback();
    this.load();
  }

  get kb() { return this.its.kb_version; }

  async load() {
    const found = await this.tell(() => api.get(`/projects/${this.project}/proposals`));
    if (!found) return;
    this.found = found;
    await learn(this.kb, this.project, found.flatMap((one) => [one.parent, one.concept]).filter(Boolean));
    this.requestUpdate();
  }

  async decide(one, body, said) {
    const done = await this.tell(() => api.post(`/projects/${this.project}/proposals/${one.id}/decision`, body));
    if (!done) return;
    toast(said(done));
    await this.load();
    await this.updateComplete;
    this.querySelector(`[data-proposal="${one.id}"]`)?.focus();  // the button that was pressed may be gone
  }

  accept(one) {
    return this.decide(one, {state: 'accepted'}, (done) => `“${one.name}” is found and can be linked to, as ${done.new}`);
  }

  async decline(one) {
    const why = await dialog(`Decline “${one.name}”`, (close) => html`
      <label for="decline-why">Why? The person who proposed it reads this.</label>
      <textarea id="decline-why" rows="3" autofocus maxlength="5000"></textarea>
      <footer><button type="button" @click=${() => close()}>Cancel</button>
        <button type="button" class="main" @click=${(event) => close(whyIn(event.target))}>Decline</button></footer>`);
    if (why !== undefined) await this.decide(one, {state: 'declined', why}, () => `“${one.name}” is declined`);
  }

  async map(one) {
    const chosen = await dialog(`Which concept is “${one.name}”?`, (close) => html`
      <linnet-picker .project=${this.project} .kb=${this.kb} .start=${one.name} .types=${one.types} .used=${[]}
        @choose=${({detail}) => close({id: detail.concepts[0], name: Object.values(detail.names)[0]})}
        @nil=${() => close()} @unsure=${() => close()}
        @cancel=${() => close()}></linnet-picker>`, {wide: true});
    if (chosen) await this.decide(one, {state: 'mapped', concept: chosen.id}, () => `“${one.name}” is ${chosen.name} from now on`);
  }

  render() {
    if (!this.found) return html`<p role="status">Reading…</p>`;
    const open = this.found.filter((one) => one.state === 'open'), over = this.found.filter((one) => one.state !== 'open');
    return html`<section class="panel"><header><h2>Proposals that wait</h2><small>${plural(open.length, 'proposal')}</small></header>
        ${open.length ? this.drawList(open) : html`<p>None waits. Whoever finds no concept can propose one from the search.</p>`}</section>
      ${over.length ? html`<section class="panel">
        <header><h2>Decided</h2><small>${plural(over.length, 'proposal')}</small></header>${this.drawList(over)}</section>` : nothing}`;
  }

  drawList(some) {
    return html`<ul class="proposals">${repeat(some, (one) => one.id, (one) => this.drawOne(one))}</ul>`;
  }

  drawOne(one) {
    const concept = one.concept ? `: ${nameOf(this.kb, one.concept)}` : '';
    const facts = [
      one.parent && `below ${nameOf(this.kb, one.parent)}`, one.types.join(', '), one.by && `by ${one.by}, ${when(one.made)}`,
      one.why && `“${one.why}”`,
    ].filter(Boolean);
    return html`<li data-proposal=${one.id} tabindex="-1">
      <h3>${one.name} ${one.new ? html`<code>${one.new}</code>` : nothing} <span class="chip">${WORDS[one.state]}${concept}</span></h3>
      ${one.note ? html`<p>${one.note}</p>` : nothing}
      <p class="note">${facts.join(' · ')}</p>
      ${leads() ? this.drawActs(one) : nothing}</li>`;
  }

  drawActs(one) {
    const name = html`<span class="unseen"> ${one.name}</span>`;
    const map = html`<button ?disabled=${!this.kb} @click=${() => this.map(one)}>Map to a concept…${name}</button>`;
    if (one.state === 'accepted') return html`<div class="row tight">${map}</div>`;
    if (one.state !== 'open') return nothing;
    return html`<div class="row tight"><button class="main" @click=${() => this.accept(one)}>Accept${name}</button>
      <button @click=${() => this.decline(one)}>Decline…${name}</button>${map}</div>`;
  }
}

const whyIn = (element) => element.closest('form').querySelector('textarea').value.trim();

customElements.define('linnet-proposals', Proposals);
