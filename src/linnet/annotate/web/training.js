// The form that asks for a training: what is to learn, from what, and whether the model is used.

import {api, ApiError} from './api.js';
import {count, html, nothing, plural, say, View, when} from './base.js';
import {named, PARTS, sentence} from './jobs.js';

const ANEW = 'None: begin anew';
const NONE = 'none';  // a base that is chosen to be none, beside '' for what is usual
const COMMON = ['own_letters', 'own_lexical', 'own'];  // recipes for documents of any kind

/** Asks for a training; tells `linnet-asked` with the job. */
class Training extends View {
  static properties = {
    project: {type: Number}, models: {attribute: false}, inUse: {attribute: false}, progress: {attribute: false},
    order: {state: true}, wrong: {state: true},
  };

  constructor() {
    super();
    this.models = [];
    this.wrong = '';
    this.recipes = {};
    this.order = {parts: 'both', base: '', recipe: '', to: 'now', event: '', dev: 20, seed: '', minutes: '', use: true};
  }

  connectedCallback() {
    super.connectedCallback();
    api.get('/recipes').then((found) => { this.recipes = found; this.requestUpdate(); }).catch(() => {});  // names can be typed all the same
  }

  /** Return a listener that keeps what is entered for a key. */
  keep(key) {
    return ({target}) => { this.order = {...this.order, [key]: target.type === 'checkbox' ? target.checked : target.value}; };
  }

  /** Return the arguments of the job; what is not said is left to the server. */
  get args() {
    const {parts, base, recipe, to, event, dev, seed, minutes, use} = this.order;
    return {
      parts, dev: dev / 100, use,
      ...(base && {base: base === NONE ? '' : base}),
      ...(recipe.trim() && {recipe: recipe.trim()}),
      ...(seed !== '' && {seed: Number(seed)}),
      ...(minutes !== '' && {minutes: Number(minutes)}),
      ...(to !== 'now' && {to: Number(to === 'event' ? event : to)}),
    };
  }

  async ask(submit) {
    submit.preventDefault();
    this.wrong = '';
    try {
      const job = await api.post(`/projects/${this.project}/jobs`, {kind: 'train', args: this.args});
      say('The training waits for a worker');
      this.dispatchEvent(new CustomEvent('linnet-asked', {detail: job, bubbles: true}));
    } catch (error) {
      if (error instanceof ApiError && error.status !== 401) this.wrong = sentence(error.detail || error.message);
      else this.tell(() => { throw error; });
      await this.updateComplete;
      this.querySelector('.wrong')?.focus();
    }
  }

  render() {
    const {use} = this.order;
    const done = plural(this.progress?.seen?.done ?? 0, 'finished reading');
    return html`<section class="panel" data-panel tabindex="-1" aria-label="New training">
      <header><h2>New training</h2></header>
      <form @submit=${(submit) => this.ask(submit)}>
        <p class="note">It learns from what is decided so far: ${done}, begun ones too; the project has ${plural(this.progress?.documents ?? 0, 'document')}. What somebody is unsure of is left out.</p>
        <div class="fields">${this.parts()}${this.base()}${this.data()}</div>
        <details class="more"><summary>More choices</summary><div class="fields">${this.more()}</div></details>
        <label class="line"><input type="checkbox" .checked=${use} @change=${this.keep('use')}>Use the model when it is done,
          unless it is worse than what is in use</label>
        ${this.wrong ? html`<p class="wrong" tabindex="-1" role="alert">${this.wrong}</p>` : nothing}
        <p class="row"><button class="main" type="submit">Start training</button></p>
      </form></section>`;
  }

  /** Return a labelled choice; `options` are pairs of value and text. */
  choice(key, label, options) {
    const now = this.order[key];
    return html`<div><label for=${`t-${key}`}>${label}</label><select id=${`t-${key}`} @change=${this.keep(key)}>
      ${options.map(([value, text]) => html`<option value=${value} ?selected=${value === now}>${text}</option>`)}</select></div>`;
  }

  parts() {
    return this.choice('parts', 'What is to learn', Object.entries(PARTS));
  }

  base() {
    const names = named(this.models);
    const kept = this.order.parts !== 'both' && this.inUse;  // what does not learn is taken from the model in use
    return this.choice('base', 'Other parts from', [
      ['', kept ? `${names.get(this.inUse)}, which is in use` : ANEW], ...(kept ? [[NONE, ANEW]] : []),
      ...this.models.map((one) => [one.id, `${names.get(one.id)}, ${when(one.made)}`]),
    ]);
  }

  data() {
    const names = named(this.models);
    const events = new Map(this.models.filter((one) => one.data_to_event).map((one) => [String(one.data_to_event), names.get(one.id)]));
    return html`${this.choice('to', 'Data', [
      ['now', 'All that is decided now'],
      ...[...events].map(([event, name]) => [event, `The same as ${name} (to event ${count(event)})`]),
      ['event', 'Up to an event …'],
    ])}${this.order.to === 'event' ? html`<div><label for="t-event">Number of the event</label>
      <input id="t-event" type="number" min="0" step="1" required .value=${this.order.event} @input=${this.keep('event')}></div>`
      : nothing}`;
  }

  more() {
    const {recipe, dev, seed, minutes} = this.order, usual = this.its.settings.recipe;
    const recipes = new Set([usual, ...COMMON, ...Object.keys(this.recipes), ...this.models.map((one) => one.card.recipe)].filter(Boolean));
    return html`
      <div><label for="t-recipe">Recipe</label>
        <input id="t-recipe" list="t-recipes" .value=${recipe} placeholder=${usual} @input=${this.keep('recipe')}>
        <datalist id="t-recipes">${[...recipes].map((one) => html`<option value=${one}>${this.recipes[one] ?? ''}</option>`)}</datalist>
        <p class="hint">Empty: that of the model begun from or in use.</p></div>
      <div><label for="t-dev">Kept to measure on, in %</label>
        <input id="t-dev" type="number" min="1" max="90" required .value=${String(dev)} @input=${this.keep('dev')}>
        <p class="hint">Documents that nothing is trained on.</p></div>
      <div><label for="t-minutes">Minutes for each network at most</label>
        <input id="t-minutes" type="number" min="0.1" step="any" .value=${minutes} @input=${this.keep('minutes')}>
        <p class="hint">Empty: as the recipe says. The best one so far is kept.</p></div>
      <div><label for="t-seed">Seed</label>
        <input id="t-seed" type="number" min="0" step="1" .value=${seed} @input=${this.keep('seed')}>
        <p class="hint">Empty: that of the recipe.</p></div>`;
  }
}

customElements.define('linnet-training', Training);
