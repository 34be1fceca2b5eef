// What can be set of a project, as fields: for a new one and for the settings of one that is there.

import {api} from './api.js';
import {count, html, nothing, plural} from './base.js';
import {field} from './forms.js';

/** Strategies that choose the next documents: name, and what it does. */
export const STRATEGIES = {
  expected_error: ['Expected errors per minute', 'Documents in which reading a minute is expected to correct most.'],
  coverage: ['Concepts seldom seen', 'As expected errors, and before others those with concepts that were seldom linked so far.'],
  diverse: ['Expected errors, unlike each other', 'As expected errors, but no batch of documents that are all alike.'],
  k_centre: ['Unlike what was read', 'Documents that differ most from those that were read.'],
  least_confident: ['Least confident', 'Documents with the mention that the model is least sure of.'],
  margin: ['Two candidates close together', 'Documents with a mention whose two best concepts are about equally probable.'],
  entropy: ['Many candidates possible', 'Documents with a mention for which many concepts are about equally probable.'],
  version_disagreement: ['Models disagree', 'Documents in which the last two models differ most. It needs two models.'],
  trainx: ['TrainX', 'The strategy of TrainX: the lowest sum of confidence in mention and concept.'],
  stratified: ['By chance, of all kinds', 'By chance, spread evenly over sources and lengths. Needs no model.'],
  random: ['By chance', 'By chance alone. Needs no model.'],
};

/** Return what a strategy is called. */
export const strategyName = (id) => STRATEGIES[id]?.[0] ?? id;

const ADVANCED = ['untrained', 'recipe', 'strategy', 'annotators', 'lease_hours'];

const RECIPES = {  // what comes with Linnet and fits any knowledge base
  dictionary: 'finds every name of the knowledge base; learns nothing',
  hpo: 'as “dictionary”, phenotypes of the HPO alone',
  own_letters: 'keeps the rules of “dictionary”, and learns names and how often they are meant: for letters, and few documents',
  own_lexical: 'learns all anew within a minute, without a network: for hundreds of documents, on a dozen letters worse than no training',
  own: 'learns with a network: better, but takes long',
};

/** Which field a refusal of the server is about. */
export const WORDS = {
  name: /\bproject\b.*\b(already|name)\b|name of a project/i, kb: /knowledge base/i, untrained: /$^/, recipe: /\brecipe\b/i,
  strategy: /\bstrategy\b/i, annotators: /\bannotators\b/i, lease_hours: /\blease\b/i, blind: /$^/,
};

/** Return the settings of a project as a draft that the fields change. */
export function draftOf(project) {
  return {name: project.name, kb: project.kb, blind: project.blind, ...project.settings};
}

export const NEW = {
  name: '', kb: '', blind: true, strategy: 'expected_error', annotators: 1, lease_hours: 72, untrained: 'dictionary', recipe: 'own_lexical',
};

const OF_PHENOTYPES = {untrained: 'hpo', recipe: 'own_letters'};  // for letters, and few documents

/** Choose the recipes of a new project by its knowledge base, unless somebody has chosen others. */
function suit(draft) {
  const [before, now] = draft.kb === 'hpo' ? [NEW, OF_PHENOTYPES] : [OF_PHENOTYPES, NEW];
  if (draft.untrained !== before.untrained || draft.recipe !== before.recipe) return;
  Object.assign(draft, {untrained: now.untrained, recipe: now.recipe});
}

/** Return what is to be sent of a draft: only what differs from `before`. */
export function changesOf(draft, before) {
  const changed = (key) => draft[key] !== before[key];
  const of = (keys) => Object.fromEntries(keys.filter(changed).map((key) => [key, draft[key]]));
  const settings = of(ADVANCED), made = of(['name', 'kb', 'blind']);
  return Object.keys(settings).length ? {...made, settings} : made;
}

/** Return what is wrong with a draft before anybody is asked. */
export function faultsOfDraft(draft) {
  const found = {};
  if (!draft.name.trim()) found.name = 'Give the project a name.';
  const {annotators} = draft;
  if (!(Number.isInteger(annotators) && annotators >= 1 && annotators <= 20)) found.annotators = 'A whole number from 1 to 20.';
  if (!(draft.lease_hours > 0 && draft.lease_hours <= 8760)) found.lease_hours = 'A number of hours, above 0 and up to 8,760 (a year).';
  return found;
}

/** Return what the recipe of a refusal is: the server names it, not its field. */
export function placeRecipe(found, draft) {
  if (!found.recipe || !found.recipe.includes(`'${draft.untrained}'`) || draft.untrained === draft.recipe) return found;
  const {recipe, ...others} = found;
  return {...others, untrained: recipe};
}

/** Look for the knowledge base that a draft names, for `kbNote`. */
export async function lookForKb(draft) {
  draft.found = null;
  if (!draft.kb) return;
  try {
    draft.found = await api.get(`/kb/${encodeURIComponent(draft.kb)}`);
  } catch (error) {
    draft.found = {missing: true, name: draft.kb, offline: !error.status};
  }
}

function kbNote({found, kb}, wrong) {
  if (!found || found.name && found.missing && found.name !== kb) return nothing;
  if (found.offline) return html`<p class="hint">The server could not be asked for it.</p>`;
  if (found.missing && wrong) return nothing;
  if (found.missing) {
    return html`<p class="wrong" role="status">The server has no knowledge base “${found.name}”.
      Whoever runs the server makes one with <code>linnet kb build</code>.</p>`;
  }
  const names = Object.keys(found.types), types = names.slice(0, 6).join(', ') + (names.length > 6 ? ' …' : '');
  return html`<p class="hint" role="status"><span class="good">✓</span> ${plural(found.concepts, 'concept')},
    ${count(found.names)} names${types && `; types: ${types}`}</p>`;
}

/** Ask once for what the server has to choose from; names can be typed all the same. `only` is called with a knowledge base that is the only one. */
function readLists(draft, changed, only) {
  draft.lists = {kbs: [], recipes: {}};
  Promise.all([api.get('/kb'), api.get('/recipes')]).then(([{names: kbs}, recipes]) => {
    draft.lists = {kbs, recipes: {...recipes, ...RECIPES}};
    changed();
    if (kbs.length === 1) only(kbs[0]);
  }).catch(() => {});
}

/** Draw the fields of a draft; `changed()` redraws. `id` begins the ids of the fields; `brief` folds all but the first two. */
export function projectFields(draft, wrong, changed, id, {brief = false} = {}) {
  const text = (key, more = {}) => (a) => html`<input id=${a.id} .value=${String(draft[key])} list=${more.list ?? nothing} maxlength="500"
    ?autofocus=${more.first} aria-describedby=${a.by} aria-invalid=${a.invalid} spellcheck="false" autocomplete="off"
    @input=${(event) => { draft[key] = event.target.value; }} @change=${() => more.change?.()}>`;
  const number = (key, most) => (a) => html`<input id=${a.id} type="number" min="1" max=${most} step="1" .value=${String(draft[key])}
    aria-describedby=${a.by} aria-invalid=${a.invalid} @input=${(event) => { draft[key] = event.target.valueAsNumber; }}>`;
  const kb = async () => {
    if (brief) suit(draft);
    await lookForKb(draft);
    changed();
  };
  if (!draft.lists) readLists(draft, changed, (name) => { if (brief && !draft.kb) { draft.kb = name; kb(); } });
  return html`
    ${field({id: `${id}-name`, label: 'Name', wrong: wrong.name}, text('name', {first: true}))}
    <datalist id=${`${id}-kbs`}>${draft.lists.kbs.map((name) => html`<option value=${name}></option>`)}</datalist>
    ${field({id: `${id}-kb`, label: 'Knowledge base', wrong: wrong.kb, hint: html`What mentions are linked to.
      ${draft.lists.kbs.length ? html`This server has ${draft.lists.kbs.slice(0, 8).map((name, at) => html`${at ? ', ' : ''}<code>${name}</code>`)}${draft.lists.kbs.length > 8 ? ' and others' : ''}.` : nothing}
      Without one, mentions can be marked but not linked.`}, text('kb', {list: `${id}-kbs`, change: kb}))}
    ${kbNote(draft, wrong.kb)}
    ${brief && draft.recipe === OF_PHENOTYPES.recipe ? html`<p class="hint">Suggestions come from the recipe <code>${draft.untrained}</code>, and
      <code>${draft.recipe}</code> learns: it serves letters, and few documents. Others can be chosen below.</p>` : nothing}
    ${brief ? folded(draft, wrong, others(draft, wrong, changed, id, {text, number})) : others(draft, wrong, changed, id, {text, number})}`;
}

function folded(draft, wrong, content) {
  return html`<details ?open=${draft.unfolded || ADVANCED.some((key) => wrong[key])}
    @toggle=${(event) => { draft.unfolded = event.target.open; }}>
    <summary>People for each document, what is read next, models</summary>${content}</details>`;
}

function others(draft, wrong, changed, id, {text, number}) {
  return html`
    ${field({id: `${id}-annotators`, label: 'People who read each document', wrong: wrong.annotators,
      hint: 'With two or more, you see how well they agree, and a curator settles where they differ.'}, number('annotators', 20))}
    <label class="line"><input type="checkbox" .checked=${draft.blind} @change=${(event) => { draft.blind = event.target.checked; }}>
      Blind: nobody sees what another has decided on a document before both are done</label>
    <p class="hint">Otherwise people copy each other, and their agreement means nothing.</p>
    ${choosing(draft, wrong, changed, id, number)}
    ${learning(draft, wrong, id, text)}`;
}

function choosing(draft, wrong, changed, id, number) {
  return html`
    ${field({id: `${id}-strategy`, label: 'What is read next', wrong: wrong.strategy,
      hint: html`${STRATEGIES[draft.strategy]?.[1]} A fifth is drawn by chance in any case: the estimates rest on that part.`}, (a) => html`
      <select id=${a.id} aria-describedby=${a.by} aria-invalid=${a.invalid}
        @change=${(event) => { draft.strategy = event.target.value; changed(); }}>${strategyOptions(draft.strategy)}</select>`)}
    ${field({id: `${id}-lease`, label: 'Hours that a document is kept for somebody who has not begun with it', wrong: wrong.lease_hours,
      hint: 'After that, others can get it.'}, number('lease_hours', 8760))}`;
}

function learning(draft, wrong, id, text) {
  const options = Object.entries(draft.lists.recipes).map(([name, what]) => html`<option value=${name}>${what}</option>`);
  return html`<datalist id=${`${id}-recipes`}>${options}</datalist>
    ${field({id: `${id}-untrained`, label: 'Suggestions before there is a model', wrong: wrong.untrained, hint: html`A recipe that needs no
      training: <code>dictionary</code> ${RECIPES.dictionary}.`}, text('untrained', {list: `${id}-recipes`}))}
    ${field({id: `${id}-recipe`, label: 'Recipe that models are trained by', wrong: wrong.recipe, hint: html`<code>own_letters</code>
      ${RECIPES.own_letters}; <code>own_lexical</code> ${RECIPES.own_lexical}; <code>own</code> ${RECIPES.own}.`}, text('recipe', {list: `${id}-recipes`}))}`;
}

/** Draw the options of a select of strategies; `of` names the one of the project for a first, empty choice. */
export function strategyOptions(chosen, of = '') {
  return html`${of ? html`<option value="" ?selected=${!chosen}>${strategyName(of)} (of the project)</option>` : nothing}
    ${Object.keys(STRATEGIES).filter((one) => one !== of).map((one) => html`
      <option value=${one} ?selected=${one === chosen}>${strategyName(one)}</option>`)}`;
}
