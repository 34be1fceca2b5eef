// A concept that the knowledge base lacks: proposed to the curators of the project.

import {api, query} from './api.js';
import {dialog, html, nothing, problem, toast} from './base.js';
import {faultsOf, field, focusWrong} from './forms.js';

const OFFERED = 12;  // concepts that a new one could be below
const WORDS = {name: /name/, parent: /concept/, note: /note/};

/** Look words up, sure matches alone; nothing where that does not work. */
async function look(kb, project, q, limit) {
  if (!q.trim()) return [];
  const found = await api.get(`/kb/${kb}/search${query({q, project, limit, late: false})}`).catch(() => ({hits: []}));
  return found.hits;
}

/**
 * Ask for a concept that is missing and propose it. `parent` is `{id, name}`; `decide` whether the mention becomes NIL too, null where
 * there is none. Returns the proposal with what was chosen of that, nothing where somebody thought better of it.
 */
export function proposeConcept(kb, project, {name = '', parent = null, types = [], decide = null} = {}) {
  const draft = {name, parent: parent?.id || '', note: '', decide, wrong: {}, same: null, above: parent ? [parent] : []};
  let looks = 0;
  const lookFor = async (key, words, redraw) => {
    looks += 1;
    const number = looks;
    const found = await look(kb, project, words, key === 'above' ? OFFERED : 1);
    if (number !== looks) return;
    if (key === 'above') draft.above = found;
    else draft.same = found.find((one) => one.tier === 'exact') || null;
    redraw();
  };
  const send = async (close, redraw) => {
    try {
      const body = {name: draft.name, types, parent: draft.parent.trim(), note: draft.note};
      const made = await api.post(`/kb/${kb}/propose${query({project})}`, body);
      toast(`“${made.name}” is proposed: a curator decides`);
      close({...made, decide: draft.decide});
    } catch (error) {
      if (error.status === 401 || !error.status) { problem(error); return; }
      draft.wrong = faultsOf(error, WORDS);
      redraw();
      focusWrong(document.querySelector('dialog[open]'));
    }
  };
  return dialog('Propose a new concept', (close, redraw) => {
    if (!looks && name) lookFor('same', name, redraw);
    return drawProposal(draft, {
      redraw, cancel: () => close(), propose: () => send(close, redraw), lookFor: (key, words) => lookFor(key, words, redraw),
    });
  });
}

/** Return a concept as a line: its name, and the name that was found where that is another. */
const labelOf = ({name, matched}) => (matched && matched !== name ? `${name} (${matched})` : name);

function drawProposal(draft, {redraw, cancel, propose, lookFor}) {
  const {wrong, same, above} = draft;
  const chosen = above.find((one) => one.id === draft.parent.trim());
  const input = (key, more = {}) => (a) => html`<input id=${a.id} .value=${draft[key]} maxlength=${more.most ?? 500}
    autocomplete="off" spellcheck="false" list=${more.list ?? nothing} aria-describedby=${a.by} aria-invalid=${a.invalid}
    ?autofocus=${more.first} @input=${(event) => { draft[key] = event.target.value; more.change(event.target.value); }}>`;
  return html`
    <p>The knowledge base itself does not change. Once a curator accepts the concept it has an id, is found, and can be linked to.</p>
    ${field({id: 'propose-name', label: 'Name', wrong: wrong.name,
      hint: same ? html`The knowledge base has this name: ${same.name}, <code>${same.id}</code>` : nothing},
      input('name', {first: true, change: (words) => { redraw(); lookFor('same', words); }}))}
    ${field({id: 'propose-parent', label: 'Below which concept (optional)', wrong: wrong.parent,
      hint: chosen ? html`Below ${chosen.name}` : 'Type words and choose, or give an id.'},
    input('parent', {most: 200, list: 'propose-above', change: (words) => lookFor('above', words)}))}
    <datalist id="propose-above">${above.map((one) => html`<option value=${one.id}>${labelOf(one)}</option>`)}</datalist>
    ${field({id: 'propose-note', label: 'What it means, or why it is needed (optional)', wrong: wrong.note}, (a) => html`
      <textarea id=${a.id} rows="3" maxlength="5000" .value=${draft.note} aria-describedby=${a.by} aria-invalid=${a.invalid}
        @input=${(event) => { draft.note = event.target.value; }}></textarea>`)}
    ${draft.decide === null ? nothing : html`<label class="line"><input type="checkbox" .checked=${draft.decide}
      @change=${(event) => { draft.decide = event.target.checked; }}> Decide “not in the knowledge base” for this mention now</label>`}
    ${wrong[''] ? html`<p class="wrong" role="alert">${wrong['']}</p>` : nothing}
    <footer><button type="button" @click=${cancel}>Cancel</button>
      <button type="submit" class="main" ?disabled=${!draft.name.trim()} @click=${propose}>Propose</button></footer>`;
}
