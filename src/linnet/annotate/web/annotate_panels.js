// What stands around the text of a document: the list of its mentions, candidates, buttons. `screen` is `linnet-annotate`.

import {acceptOver, comment} from './annotate_dialogs.js';
import {split, spread, spreadOverQueue} from './annotate_many.js';
import {classMap, html, nothing, plural, repeat, share} from './base.js';
import {keysOf, shown} from './keys.js';
import {known, nameOf} from './names.js';
import {labelOf, styleOf} from './text.js';

const LISTED = 150;  // mentions on each side of the one with the focus that the list shows
const FILTERS = {  // of the list; the mention with the focus is always there
  all: ['all', () => true], open: ['undecided', (one, screen) => screen.waits(one)], unsure: ['unsure', (one) => one.unsure],
  nil: ['NIL', (one) => one.concepts?.length === 0], marked: ['bookmarked', (one, screen) => screen.bookmarks.includes(one.id)],
};
/** The keys that act in text and list. */
export const CONTEXTS = 'mentions decide edges create spread history document';

/** Draw the list of mentions. */
export function drawList(screen) {
  const listed = screen.mentions.filter((one) => one.id === screen.at || FILTERS[screen.filter][1](one, screen));
  const marked = new Set(screen.bookmarks);
  const at = Math.max(0, listed.findIndex((one) => one.id === screen.at));
  const from = Math.max(0, at - LISTED), to = Math.min(listed.length, at + LISTED);
  return html`<section class="panel list-panel" aria-label="Mentions">
    <header><h2>Mentions</h2><small>${key('next-open')} next open</small></header>
    ${screen.desk.bare ? html`<p class="warn">Suggestions are hidden in this document until it is done, to measure what readers
      overlook where they see some. Mark all that you find.</p>` : nothing}
    <select aria-label="Which mentions are listed" @change=${(event) => { screen.filter = event.target.value; screen.requestUpdate(); }}>
      ${Object.entries(FILTERS).map(([id, [label]]) => html`<option value=${id} ?selected=${id === screen.filter}>${label}</option>`)}</select>
    <ul class="rows" role="listbox" tabindex="0" aria-label="Mentions" data-panel data-keys=${CONTEXTS} aria-activedescendant=${screen.at ? `o-${screen.at}` : nothing}
      @keydown=${(event) => { const by = {ArrowDown: 1, ArrowUp: -1}[event.key]; if (by) { event.preventDefault(); event.stopPropagation(); screen.step(by); } }}>
      ${from ? html`<li role="presentation" class="note">${from} before</li>` : nothing}
      ${repeat(listed.slice(from, to), (one) => one.id, (one, number) => html`
        <li id=${`o-${one.id}`} role="option" aria-selected=${one.id === screen.at} aria-posinset=${from + number + 1} aria-setsize=${listed.length} aria-label=${one.id === screen.at ? screen.describe(one) : nothing} @click=${() => screen.focusOn(one.id)}>
          <span class="words">${screen.desk.surface(one)}${screen.commentsOn(one).length ? html` <span title="There is a comment">💬</span>` : nothing}${marked.has(one.id) ? html` <span title="Bookmarked">★</span>` : nothing}</span>
          <span class=${`swatch ${styleOf(one)}`}>${labelOf(one, {showP: screen.showP})}</span></li>`)}
      ${to < listed.length ? html`<li role="presentation" class="note">${listed.length - to} more</li>` : nothing}
    </ul>
    ${screen.mentions.length ? nothing : html`<p class="note">Nothing is marked yet. Select words in the text, or press ${key('find')} and letters.</p>`}
  </section>`;
}

/** Draw what the mention with the focus may mean, or what is selected. */
export function drawCandidates(screen) {
  const {mention} = screen;
  const rows = screen.rows();
  const surface = screen.choice ? screen.choice.map((part) => screen.desk.offsets.slice(...part)).join(' … ') : mention ? screen.desk.surface(mention) : '';
  const start = screen.searching ? html`<linnet-picker .project=${screen.project} .kb=${screen.kb} .types=${mention?.types || []} .used=${screen.found?.used || []}
    .candidates=${rows.map((one) => ({...one, name: nameOf(screen.kb, one.id), types: known(screen.kb, one.id)?.types || []}))}
    @choose=${({detail}) => { screen.searching = false; screen.link(detail.concepts); screen.textBox.focus({preventScroll: true}); }}
    @nil=${({detail}) => { screen.endSearch(); screen.nil(detail.nil); }} @unsure=${() => { screen.endSearch(); screen.unsure(); }} @cancel=${() => screen.endSearch()}></linnet-picker>` : nothing;
  return html`<section class="panel side-panel" aria-label="Candidates" tabindex="-1" data-panel data-keys="decide history document mentions">
    <header><h2>${surface ? html`“${surface}”` : 'Candidates'}</h2></header>
    ${mention && !screen.choice ? html`<p class="note"><span class=${`swatch ${styleOf(mention)}`}>${labelOf(mention, {showP: screen.showP})}</span>
      ${screen.meaning(mention)}${mention.types.length ? html` · ${mention.types.join(', ')}` : nothing}</p>` : nothing}
    ${mention && !screen.choice ? screen.commentsOn(mention).map((one) => html`<p class="note comment"><b>${one.actor}</b>: ${one.text}</p>`) : nothing}
    ${screen.choice ? html`<p class="note">Selected. ${key('create')} marks it, a digit marks and links it.</p>` : nothing}
    ${screen.mode === 'edges' ? drawEdges(screen) : nothing}
    ${screen.searching ? start : html`
      ${screen.found?.problem ? html`<p class="bad">${screen.found.problem}</p>` : nothing}
      <ol class="rows candidates">${rows.map((one, number) => drawRow(screen, one, number))}</ol>
      ${surface && screen.kb && screen.found && !rows.length ? html`<p class="note">Nothing fits. Search with ${key('search')}.</p>` : nothing}
      ${!screen.kb ? html`<p class="note">This project has no knowledge base: mentions are marked, not linked.</p>` : nothing}
      ${screen.card ? html`<linnet-card .kb=${screen.kb} .project=${screen.project} .concept=${screen.card}></linnet-card>` : nothing}`}
    ${drawRejected(screen)}
  </section>`;
}

function drawRow(screen, one, number) {
  const about = known(screen.kb, one.id);
  const chosen = screen.mention?.concepts?.includes(one.id) && !screen.choice;
  return html`<li class=${classMap({chosen})}><button class="candidate" @click=${() => screen.choose(number + 1)}>
    <kbd>${number + 1}</kbd>
    <span class="what"><b>${about?.name || one.id}</b> <code>${one.id}</code>
      <small>${(about?.types || []).map((type) => html`<span class="chip">${type}</span>`)} ${about?.above?.length ? [...about.above].reverse().join(' ▸ ') : ''}</small>
      ${about?.definition ? html`<small class="definition">${about.definition}</small>` : nothing}</span>
    <span class="score">${one.used ? html`<span class="chip">used ${one.used}×</span>` : one.score != null && screen.showP ? `${screen.mention?.calibration && !screen.choice ? '' : '~'}${share(one.score)}` : nothing}</span></button></li>`;
}

function drawEdges(screen) {
  const button = (label, by, left) => html`<button type="button" @click=${() => screen.moveEdge(by, left)}>${label}</button>`;
  return html`<div class="row edges" role="group" aria-label="Edges">${button('◂ left edge', -1, true)}${button('left edge ▸', 1, true)}${button('◂ right edge', -1, false)}${button('right edge ▸', 1, false)}
    <button type="button" @click=${() => screen.switchUnit()}>by ${screen.edges.characters ? 'characters' : 'words'}</button>
    <button type="button" class="main" @click=${() => screen.keepEdges()}>Keep</button><button type="button" @click=${() => screen.back()}>Cancel</button></div>`;
}

function drawRejected(screen) {
  const {rejected} = screen.desk;
  if (!rejected.length) return nothing;
  return html`<details class="rejected"><summary>${plural(rejected.length, 'mention')} ruled out</summary><ul class="rows">${rejected.map((one) => html`
    <li><span><s>${screen.desk.surface(one)}</s> <small>${screen.meaning(one)}</small></span><button @click=${() => { if (!screen.locked) { screen.desk.do('accept', {mention: one.id}); screen.focusOn(one.id); } }}>Bring back</button></li>`)}</ul></details>`;
}

/** Draw the buttons of what can be done, for who does not know the keys. */
export function drawBar(screen) {
  const button = (id, label, run) => html`<button @click=${run} ?disabled=${!screen.mention && !screen.choice}>${label} ${key(id)}</button>`;
  return html`<div class="acts" role="toolbar" aria-label="Decide">
    ${button('accept', 'Accept', () => (screen.choice ? screen.create() : screen.decide('accept')))}${button('reject', 'Reject', () => screen.decide('reject'))}
    ${button('nil', 'NIL', () => screen.askNil())}${button('unsure', 'Unsure', () => screen.unsure())}
    ${button('search', 'Search', () => screen.search())}${button('edges', 'Edges', () => screen.startEdges())}${button('split', 'Split', () => split(screen))}
    ${button('spread', 'Everywhere', () => spread(screen))}${button('spread-queue', 'In my queue', () => spreadOverQueue(screen))}
    ${button('comment', 'Comment', () => screen.selecting || comment(screen))}
    <button @click=${() => acceptOver(screen)}>Accept all above… ${key('accept-over')}</button>
    <span class="grow"></span>
    <button @click=${() => screen.history('undo')}>Undo ${key('undo')}</button><button @click=${() => screen.history('redo')}>Redo ${key('redo')}</button>
    <button @click=${() => screen.step(-1)} aria-label="Previous mention">◂</button><button @click=${() => screen.step(1)} aria-label="Next mention">▸</button></div>`;
}

/** Draw the key of an action. */
export function key(id) {
  const [first] = keysOf(id);
  return first ? html`<kbd aria-hidden="true">${shown(first)}</kbd>` : nothing;
}

/** Return whether all is saved, in words. */
export function statusText(desk) {
  if (desk.status === 'waiting') return `${desk.unsent} waiting: ${desk.why || 'no connection'}`;
  return desk.status === 'saving' ? 'saving…' : 'saved ✓';
}
