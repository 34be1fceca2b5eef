// The panels of an adjudication: the queue of conflicts, the text around one, and what readers say beside the result.

import {html, nothing, plural, remembered, repeat, share, toast, when} from './base.js';
import {answersIn, DIFFERENCES} from './conflicts.js';
import {around, drawAround, linesOf, lookOf} from './judge_text.js';
import {keysOf, shown} from './keys.js';
import {known, nameOf} from './names.js';
import './picker.js';

const CONTEXTS = 'adjudicate history document';
const BEGINNING = 1500;  // characters that are shown of a text without conflicts
const SIDES = ['left', 'right'];

/** Return what differs in a conflict, in words. */
export const differencesOf = (conflict) => conflict.differences.map((one) => DIFFERENCES[one]).join(', ');

/** Draw the first key of an action. */
export function key(id) {
  const [first] = keysOf(id);
  return first ? html`<kbd aria-hidden="true">${shown(first)}</kbd>` : nothing;
}

/** Draw the queue of conflicts. */
export function drawConflicts(judge) {
  const {conflicts} = judge;
  const press = (event) => {
    const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    judge.step(by);
  };
  return html`<section class="panel conflicts" aria-labelledby="conflicts-title">
    <header><h2 id="conflicts-title">Conflicts</h2><small>${key('next-conflict')} next</small></header>
    ${conflicts.length ? html`<ul class="rows" role="listbox" tabindex="0" aria-labelledby="conflicts-title" data-panel
      data-keys=${CONTEXTS} aria-activedescendant=${judge.at ? `c-${judge.at}` : nothing} @keydown=${press}>
      ${repeat(conflicts, (one) => one.id, (one) => drawRow(judge, one))}</ul>`
      : html`<p>Readers agree on everything: there is nothing to settle.</p>`}
    ${judge.still ? nothing : html`<p class="note">Something that no reader has marked?
      <a href=${`#/p/${judge.project}/a/${judge.assignment}`}>Open the result in the editor.</a></p>`}
  </section>`;
}

function drawRow(judge, one) {
  const over = judge.resultOf(one);
  const chosen = one.id === judge.at;
  return html`<li id=${`c-${one.id}`} role="option" aria-selected=${chosen} aria-label=${chosen ? judge.describe(one) : nothing}
    @click=${() => judge.focusOn(one.id)}>
    <span class="words">${judge.surfaceOf(one)}<small>${differencesOf(one)}</small></span>
    <span class=${over ? 'good' : 'bad'} title=${over ? 'settled' : 'open'}>${over ? '✓' : '!'}</span></li>`;
}

/** Draw the text around the conflict, or all of it. */
export function drawText(judge) {
  const {conflict, desk} = judge;
  const {length} = desk.offsets;
  const near = conflict ? around(desk.offsets, conflict.start, conflict.end) : [0, Math.min(length, BEGINNING)];
  const isPart = near[0] > 0 || near[1] < length;
  const stretch = judge.whole ? [0, length] : near;
  const turn = () => { judge.whole = !judge.whole; judge.updateComplete.then(() => judge.show()); };
  const lines = linesOf(judge.conflicts, judge.found.alike, judge.at, (one) => judge.resultOf(one));
  return html`<section class="panel text-panel" aria-label="Text">
    <div class="text" tabindex="0" role="group" aria-label=${`Text of ${desk.doc.ext_id}`} lang="und" data-panel data-keys=${CONTEXTS}>${
      drawAround(desk.offsets, stretch, lines)}</div>
    <div class="legend row">
      ${judge.readers.map((_, reader) => sign(lookOf(reader), reader + 1, judge.nameOfReader(reader)))}
      ${sign('merged', '=', 'all alike')}${sign('user', '✓', 'settled')}
      ${desk.done ? html`<label class="line"><input type="checkbox" .checked=${judge.named}
        @change=${(event) => { judge.named = event.target.checked; }}> Show names</label>`
        : html`<small>Names are hidden until you are done.</small>`}
      ${isPart ? html`<button class="quiet" @click=${turn}>${judge.whole ? 'Only the place' : 'Whole text'}</button>` : nothing}
    </div>
  </section>`;
}

const sign = (look, label, words) => html`<span><span class=${`lane lane-0 ${look}`} data-label=${label}>${words}</span></span>`;

/** Draw what readers say of the conflict, side by side, and the result between them. */
export function drawConflict(judge) {
  const {conflict} = judge;
  if (!conflict) return nothing;
  return html`<section class="panel conflict" aria-labelledby="conflict-title" tabindex="-1" data-panel data-keys=${CONTEXTS}>
    <header><h2 id="conflict-title">“${judge.surfaceOf(conflict)}”: ${differencesOf(conflict)}</h2>
      <button @click=${() => judge.step(-1)}>Previous ${key('previous-conflict')}</button>
      <button @click=${() => judge.step(1)}>Next ${key('next-conflict')}</button></header>
    ${judge.kin ? html`<p><b>How the concepts are related:</b> ${judge.kin}.</p>` : nothing}
    <div class="versus">
      ${answersIn(conflict).map((answer, number) => drawAnswer(judge, answer, number))}
      ${drawResult(judge, conflict)}
    </div>
  </section>`;
}

/** Draw what was written about the document as a whole. */
export function drawComments(judge) {
  const own = judge.desk.comments.map((one) => ({...one, by: one.actor}));
  const theirs = judge.works.flatMap((work, reader) => work.comments.map((one) => ({...one, by: judge.nameOfReader(reader)})));
  const said = [...theirs, ...own].filter((one) => !one.mention);
  if (!said.length) return nothing;
  return html`<details class="panel"><summary>${plural(said.length, 'comment')} on the document</summary>
    ${said.map((one) => html`<p class="comment">“${one.text}” <small>${one.by}, ${when(one.at)}</small></p>`)}</details>`;
}

function drawAnswer(judge, {mark, readers}, number) {
  const {conflict} = judge;
  const action = ['take-left', 'take-right'][number];
  const out = readers.some((reader) => conflict.out[reader]);
  return html`<div class=${`answer ${SIDES[number] ?? ''}`}>
    <h3>${readers.map((reader) => html`<span class=${`lane lane-0 ${lookOf(reader)}`}>${judge.nameOfReader(reader)}</span> `)}</h3>
    ${mark ? drawMark(judge, mark) : html`<p>${out ? 'Ruled it out.' : 'Has no mention here.'}</p>`}
    ${mark ? drawMore(judge, readers) : nothing}
    <button class="take" ?disabled=${judge.still} @click=${() => judge.take(number)}>Take ${mark ? 'this' : '“no mention”'}
      ${action ? key(action) : nothing}</button>
  </div>`;
}

function drawMark(judge, mark) {
  const names = (concepts) => concepts.map((id) => nameOf(judge.kb, id)).join(' + ');
  return html`<p class="surface">“${judge.surface(mark)}” ${mark.unsure ? html`<span class="swatch unsure">unsure</span>` : nothing}</p>
    ${mark.concepts?.length ? mark.concepts.map((id) => drawConcept(judge, id)) : html`<p><b>${judge.meaning(mark)}</b></p>`}
    ${mark.alternatives.length ? html`<p>or ${mark.alternatives.map(names).join(', or ')}</p>` : nothing}
    ${mark.types.length ? html`<p class="types">${mark.types.map((type) => html`<span class="chip">${type}</span> `)}</p>` : nothing}`;
}

function drawConcept(judge, id) {
  const about = known(judge.kb, id);
  return html`<div class="concept"><b>${about?.name ?? id}</b> <code>${id}</code>
    ${about?.above?.length ? html`<small>${[...about.above].reverse().join(' ▸ ')}</small>` : nothing}
    ${about?.definition ? html`<small class="definition">${about.definition}</small>` : nothing}</div>`;
}

/** Draw where a mention came from, and what its readers wrote about it. */
function drawMore({conflict, works}, readers) {
  const [pred] = readers.flatMap((reader) => works[reader].pred.filter((one) => one.id === conflict.marks[reader].id));
  const showP = pred && pred.p !== null && pred.calibration && remembered.get('show-p', true);
  const said = readers.flatMap((reader) => works[reader].comments.filter((one) => one.mention === conflict.marks[reader].id));
  return html`${pred ? html`<p class="note">Began as a suggestion${showP ? ` (p ${share(pred.p)})` : ''}.</p>` : nothing}
    ${said.map((one) => html`<p class="comment">“${one.text}” <small>${when(one.at)}</small></p>`)}`;
}

function drawResult(judge, conflict) {
  const box = (title, inner) => html`<div class="answer result" role="group" aria-label="Result"><h3>${title}</h3>${inner}</div>`;
  if (judge.searching) return box('Other concept', drawPicker(judge, conflict));
  const found = judge.resultOf(conflict);
  const said = judge.desk.comments.filter((one) => conflict.ids.includes(one.mention));
  const open = html`<p>Not settled.</p>`;
  return box('Result', html`
    ${found ? found.marks.map((one) => drawMark(judge, one)) : open}
    ${found && !found.marks.length ? html`<p><b>No mention.</b></p>` : nothing}
    ${said.map((one) => html`<p class="comment">“${one.text}” <small>${one.actor}, ${when(one.at)}</small></p>`)}
    ${drawActs(judge, conflict)}`);
}

function drawActs(judge, conflict) {
  const {still} = judge;
  const made = judge.bothOf(conflict);
  const act = (id, label, run, off = still) => html`<button ?disabled=${off} @click=${run}>${label} ${key(id)}</button>`;
  return html`<div class="takes">
    ${act('take-both', made?.length > 1 ? 'Both mentions' : 'Both concepts', () => judge.takeBoth(), still || !made)}
    ${act('take-other', 'Other concept', () => judge.search())}
    ${act('take-none', 'No mention', () => judge.settle([]))}
    ${act('comment-conflict', 'Comment', () => judge.comment())}
    ${act('undo', 'Undo', () => judge.history('undo'))}
    ${act('redo', 'Redo', () => judge.history('redo'))}
  </div>`;
}

function drawPicker(judge, conflict) {
  const ids = [...new Set(conflict.marks.flatMap((one) => one?.concepts ?? []))];
  const candidates = ids.map((id) => ({id, name: nameOf(judge.kb, id), types: known(judge.kb, id)?.types ?? []}));
  const unsure = () => { judge.endSearch(); toast('Leave it open if you are not sure, and say why in a comment'); };
  return html`<linnet-picker .project=${judge.project} .kb=${judge.kb} .types=${conflict.marks.find(Boolean).types} .used=${[]}
    .candidates=${candidates} @choose=${({detail}) => judge.takeOther(detail.concepts)}
    @nil=${({detail}) => judge.takeOther([], detail.nil)} @unsure=${unsure} @cancel=${() => judge.endSearch()}></linnet-picker>`;
}
