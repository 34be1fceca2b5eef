// Training and models (S4): work in progress, models and how good they are, two compared, whether reading on still pays.

import {api, query} from './api.js';
import {confirm, count, dialog, entitle, html, leads, nothing, openProject, plural, remembered, repeat, share, svg, toast, View, when}
  from './base.js';
import {lineChart} from './charts.js';
import {named, PARTS} from './jobs.js';
import {errorsLeft, missed, reliability, signals} from './outlook.js';
import './compare.js';
import './training.js';

/** What the measures of models are called. */
export const MEASURES = {
  'strict.f1': 'Found and linked exactly (F1)',
  'strict.precision': 'Found and linked: precision',
  'strict.recall': 'Found and linked: recall',
  'document.f1': 'Concepts of a document (F1)',
  'recognition.strict.f1': 'Found exactly (F1)',
  'all.accuracy@1': 'Linked right where the span is given',
  'in-kb.accuracy@1': 'Linked right, concepts of the knowledge base alone',
};
const BOTH = 'precision and recall', TWO = ['strict.precision', 'strict.recall'];
const NAMED = 10;  // documents that are kept apart
const GAIN = 0.005;  // of the score, that an hour is worth unless somebody says otherwise
const inOrder = (names) => [...Object.keys(MEASURES).filter((one) => names.includes(one)), ...names.filter((one) => !(one in MEASURES))];
const called = (name) => MEASURES[name] ?? name;
const sure = ({low, high}) => low != null && high != null;
const between = (figure) => (sure(figure) ? ` (${share(figure.low)}–${share(figure.high)})` : '');
const TOO_FEW = 'too few documents to tell';
const figureOf = (model, name) => model.metrics.measures?.[name];

class Models extends View {
  static properties = {
    project: {type: Number}, found: {state: true}, progress: {state: true}, outlook: {state: true}, measure: {state: true},
    gain: {state: true},
  };

  constructor() {
    super();
    this.found = this.progress = this.outlook = null;
    this.measure = '';
  }

  connectedCallback() {
    super.connectedCallback();
    this.gain = remembered.get(`gain.${this.project}`, GAIN);
    entitle('Training and models', this.its.name);
    this.load();
    this.listen((kind) => { if (['model', 'reset'].includes(kind)) this.load(); });
  }

  async load() {
    const path = `/projects/${this.project}`;
    const [found, progress] = await Promise.all(['models', 'progress'].map((one) => this.tell(() => api.get(`${path}/${one}`))));
    if (found) this.found = found;
    if (progress) this.progress = progress;
    if (leads()) this.look();
  }

  /** Ask what reading on still brings; that takes a moment and keeps nothing else waiting. */
  async look() {
    const found = await this.tell(() => api.get(`/projects/${this.project}/stopping${query({gain: this.gain})}`));
    if (found) this.outlook = found;
  }

  changeGain(event) {
    const gain = Number(event.target.value);
    if (!(gain > 0 && gain <= 1)) return;
    this.gain = gain;
    remembered.set(`gain.${this.project}`, gain);
    this.look();
  }

  get names() { return named(this.found.models); }
  get current() { return this.found.models.find((one) => one.id === this.found.in_use); }

  /** Return a model's name with the figure that it was judged by. */
  told(model) {
    const figure = figureOf(model, model.metrics.measure);
    return `${this.names.get(model.id)}${figure ? ` (${share(figure.value)})` : ''}`;
  }

  async use(model) {
    const name = this.names.get(model.id), now = this.current;
    const change = now ? `${this.told(model)} takes the place of ${this.told(now)}.` : `${this.told(model)} is used from now on.`;
    const text = `${change} Its suggestions are shown instead, and documents that it has not seen get them within minutes.
      No decision changes: what people accepted, linked or rejected stays. You can go back to the other model at any time.`;
    if (!(await confirm(`Use ${name}?`, text, `Use ${name}`))) return;
    if (!(await this.tell(() => api.post(`/models/${model.id}/use`)))) return;
    toast(`${name} is in use`);
    await this.tell(() => openProject(this.project, {again: true}));
    dispatchEvent(new CustomEvent('linnet-changed'));
    await this.load();
    await this.updateComplete;
    this.querySelector(`[data-card="${model.id}"]`)?.focus();  // the button that was pressed is gone
  }

  /** Go back to the recipe that has learned nothing. */
  async useNone() {
    const text = `Suggestions are again those of “${this.its.settings.untrained}”, which has learned from nobody here. The models stay,
      and so does every decision.`;
    if (!(await confirm('Use no model?', text, 'Use no model'))) return;
    if (!(await this.tell(() => api.post(`/projects/${this.project}/untrained`)))) return;
    toast('No model is in use');
    await this.tell(() => openProject(this.project, {again: true}));
    dispatchEvent(new CustomEvent('linnet-changed'));
    await this.load();
  }

  // --- the card of a model --------------------------------------------------------------------------------------------

  card(model) {
    const name = this.names.get(model.id);
    return dialog(`Card of ${name}`, () => html`
      <table class="model-card"><tbody>${this.facts(model).map(([key, value]) => html`<tr>
        <th scope="row">${key}</th><td>${value}</td></tr>`)}</tbody></table>
      <h3>Measures on the documents kept apart</h3>${this.measures(model, name)}`, {wide: true});
  }

  facts({id, made, parent, card, metrics, data_to_event: to}) {
    return [
      ['Id', html`<code>${id}</code>`], ['In a shell', html`<code>linnet link notes/ --pipeline workbench/models/${id}</code>`],
      ['Made', when(made)], ['Recipe', card.recipe], ['Learned', PARTS[card.parts]],
      ['Other parts from', this.names.get(parent)], ['Data up to event', to && count(to)],
      ['Learned from', card.documents && plural(card.documents.train, 'document')],
      ['Measured on', card.documents && plural(card.documents.dev, 'document') + apart(card.held_out)],
      ['Mentions measured on', metrics.mentions && count(metrics.mentions)],
      ['Kept to measure on', card.dev && `${Math.round(card.dev * 100)} %`], ['Seed', card.seed ?? 'that of the recipe'],
      ['Knowledge base', card.kb && html`<code>${card.kb}</code>`], ['Linnet', card.versions?.linnet], ['Job', card.job],
      ['Asked for by', this.its.members.find((one) => one.user === card.user)?.name],
    ].filter(([, value]) => value);
  }

  measures({metrics}, name) {
    const found = metrics.measures ?? {}, rival = metrics.in_use?.measures;
    if (!Object.keys(found).length) return html`<p class="note">Nothing was kept apart to measure on.</p>`;
    const cell = (figure) => html`<td class="number">${figure ? `${share(figure.value)}${between(figure)}` : '–'}</td>`;
    const before = metrics.in_use?.model, other = rival ? [before ? `${this.names.get(before) ?? before}, in use then` : 'Without a model'] : [];
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Measures"><table>
      <thead><tr><th scope="col">Measure</th>${[name, ...other].map((one) => html`<th scope="col" class="number">${one}</th>`)}</tr></thead>
      <tbody>${inOrder(Object.keys(found)).map((key) => html`<tr>
        <th scope="row">${called(key)}</th>${cell(found[key])}${rival ? cell(rival[key]) : nothing}</tr>`)}</tbody></table></div>
      <p class="note">${Object.values(found).every(sure) ? 'In brackets: 95 % intervals, by drawing documents anew.'
        : `Without an interval: ${TOO_FEW} how far a measure may be off.`}</p>`;
  }

  // --- drawing --------------------------------------------------------------------------------------------------------

  render() {
    if (!this.found) return html`<h1>Training and models</h1><p class="waiting" role="status">Reading models…</p>`;
    const {models, in_use: used} = this.found;
    return html`<h1>Training and models</h1>
      <p class="lead">${this.headline()}</p>
      <div class="models-grid">
        <div class="column">
          <linnet-jobs .project=${this.project} .models=${models} @linnet-ended=${() => this.load()}></linnet-jobs>
          ${leads() ? html`<linnet-training .project=${this.project} .models=${models} .inUse=${used} .progress=${this.progress}
            @linnet-asked=${(event) => this.querySelector('linnet-jobs').put(event.detail)}></linnet-training>` : nothing}
        </div>
        <div class="column shown">${this.list()}${this.curve()}
          <linnet-compare .project=${this.project} .models=${models} .inUse=${used}></linnet-compare>
          ${reliability(this.outlook?.calibration)}</div>
        ${leads() ? this.reading() : nothing}
      </div>`;
  }

  headline() {
    const model = this.current;
    if (!model) {
      return html`No model is in use: suggestions are those of the recipe <code>${this.its.settings.untrained}</code>, which has
        learned from nobody here.`;
    }
    const {measure, documents} = model.metrics, figure = figureOf(model, measure);
    const apart = documents ? `${plural(documents, 'document')} kept apart` : 'documents kept apart';
    const good = figure ? html` ${called(measure)}: <strong>${share(figure.value)}</strong>${between(figure)} on
      ${apart}${sure(figure) ? '' : `: ${TOO_FEW} how far that may be off`}.` : nothing;
    return html`<strong>${this.names.get(model.id)}</strong> is in use.${good}`;
  }

  list() {
    const {models, in_use: used} = this.found;
    const at = used ? models.findIndex((one) => one.id === used) : models.length;
    const first = leads() ? 'Annotate some documents, then start a training.' : 'A curator starts the first training.';
    return html`<section class="panel" data-panel tabindex="-1" aria-label="Models">
      <header><h2>Models</h2></header>
      ${models.length ? html`<ul class="models-list">
        ${repeat(models, (one) => one.id, (one, place) => this.item(one, place > at ? 'Roll back' : 'Use'))}</ul>`
        : html`<p>There is no model yet. ${first}</p>`}
      ${used && leads() ? html`<button @click=${() => this.useNone()}>Go back to no model at all</button>` : nothing}
    </section>`;
  }

  item(model, act) {
    const {id, made, card, metrics} = model, name = this.names.get(id), used = id === this.found.in_use;
    const learned = card.documents ? `, from ${plural(card.documents.train, 'document')}` : '';
    const says = act === 'Use' ? `Use ${name}` : `Roll back to ${name}`;
    const button = html`<button @click=${() => this.use(model)} aria-label=${says}>${act}</button>`;
    return html`<li class=${used ? 'used' : ''}>
      <div><strong>${name}</strong> ${used ? html`<span class="chip good">in use</span>` : nothing}
        ${metrics.worse ? html`<span class="chip warn" title="than what was in use then">was worse</span>` : nothing}
        <small>${when(made)}${learned}, ${PARTS[card.parts] ?? card.recipe}</small></div>
      ${this.score(model)}
      <div class="row"><button data-card=${id} @click=${() => this.card(model)} aria-label=${`Card of ${name}`}>Card</button>
        ${leads() && !used ? button : nothing}</div>
    </li>`;
  }

  score(model) {
    const {measure} = model.metrics, figure = figureOf(model, measure);
    if (!figure) return html`<div class="score note">not measured</div>`;
    return html`<div class="score" title=${called(measure)}>${bar(figure)}
      <span><strong>${share(figure.value)}</strong>${sure(figure) ? between(figure) : html` <small>${TOO_FEW}</small>`}</span></div>`;
  }

  curve() {
    const models = [...this.found.models].reverse();
    const measures = inOrder([...new Set(models.flatMap((one) => Object.keys(one.metrics.measures ?? {})))]);
    if (!measures.length) return nothing;
    const usual = (this.current ?? this.found.models[0]).metrics.measure;
    const chosen = this.measure || (measures.includes(usual) ? usual : measures[0]);
    const options = TWO.every((one) => measures.includes(one)) ? [...measures, BOTH] : measures;
    const text = (one) => (one === BOTH ? 'Precision and recall' : called(one));
    return html`<section class="panel" data-panel tabindex="-1" aria-label="Learning curve">
      <header><h2>Learning curve</h2><label class="unseen" for="curve-measure">Measure</label>
        <select id="curve-measure" @change=${(event) => { this.measure = event.target.value; }}>
          ${options.map((one) => html`<option value=${one} ?selected=${one === chosen}>${text(one)}</option>`)}</select></header>
      <linnet-chart .of=${lineChart} .data=${this.points(models, chosen === BOTH ? TWO : [chosen], text(chosen))}></linnet-chart>
      <p class="note">Each model was measured on the documents that were kept apart at its time, so that part of a rise may be due to
        other documents: “Compare two models” takes the same for both. Bands and bars are 95 % intervals; fewer than 5 documents give none.</p>
    </section>`;
  }

  /** Return what is drawn: the measures of models over what they learned from. */
  points(models, keys, label) {
    const x = abscissa(models);
    const series = keys.map((key) => ({name: called(key), points: models.filter((one) => figureOf(one, key)).map((one) => {
      const {value, low, high} = figureOf(one, key);
      return {x: x.of(one), y: value, low, high, note: this.names.get(one.id)};
    })}));
    return {
      title: 'Learning curve', about: `The score of each model over ${x.about}, with 95 % intervals. ${course(series[0].points)}`,
      x: {label: x.label, whole: true, least: 0}, y: {label, format: share, least: 0, most: 1}, series, width: 760, height: 300,
    };
  }

  reading() {
    const found = this.outlook;
    return html`<section class="panel outlook" data-panel tabindex="-1" aria-label="Does reading on still pay?">
      <header><h2>Does reading on still pay?</h2></header>
      ${found ? html`<p>${errorsLeft(found)}</p>${signals(found.signals)}
        <label for="gain">An hour of work is worth a gain in score of</label>
        <input id="gain" type="number" min="0.0005" max="1" step="0.0005" .value=${String(this.gain)}
          @change=${(event) => this.changeGain(event)}>
        ${missed(found.missed_by_both)}
        <p class="note">Nothing stops by itself: these are hints for people.</p>` : html`<p class="note" role="status">Estimating…</p>`}
    </section>`;
  }
}

/** Return which documents were kept apart, the first of many. */
function apart(ids) {
  if (!ids?.length) return '';
  return `: ${ids.slice(0, NAMED).join(', ')}${ids.length > NAMED ? ` and ${count(ids.length - NAMED)} more` : ''}`;
}

/** Return what the learning curve runs over: mentions, documents, or the order where numbers are not to be seen. */
function abscissa(models) {
  const known = ['mentions', 'documents'].find((key) => models.every((one) => one.card[key]));
  if (known) {
    const label = `${known[0].toUpperCase()}${known.slice(1)} learned from`;
    return {label, about: `the ${known} that it learned from`, of: (one) => one.card[known].train};
  }
  return {label: 'Model', about: 'the order in which they were made', of: (one) => models.indexOf(one) + 1};
}

function course(points) {
  if (!points.length) return '';
  const [first, last] = [points[0], points.at(-1)];
  return points.length < 2 ? `One model, ${share(last.y)}.` : `From ${share(first.y)} (${first.note}) to ${share(last.y)} (${last.note}).`;
}

/** Draw a figure with its interval on a line from 0 to 1. */
function bar({value, low, high}) {
  const at = (one) => `${(one * 100).toFixed(1)}%`;
  return html`<svg class="interval" width="90" height="18" aria-hidden="true"><line x1="0" x2="100%" y1="9" y2="9"/>
    ${low == null || high == null ? nothing : svg`<rect x=${at(low)} y="5" width=${at(high - low)} height="8"/>`}
    <circle cx=${at(value)} cy="9" r="4.5"/></svg>`;
}

customElements.define('linnet-models', Models);
