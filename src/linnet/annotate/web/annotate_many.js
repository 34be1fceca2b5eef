// Acts on many mentions at once: the same at all places of a document or of a queue, and one mention split into several.
// `screen` is the element `linnet-annotate`.

import {api, uuid} from './api.js';
import {confirm, dialog, html, nothing, plural, toast} from './base.js';

/** Put what the mention with the focus means at all places of the document where its words stand. */
export async function spread(screen) {
  if (!screen.mention || screen.locked || screen.selecting) return;
  const {desk, mention: {id}} = screen;
  const surface = desk.surface(screen.mention), meaning = screen.meaning(screen.mention);
  const changes = await screen.tell(() => desk.preview('spread', {mention: id}));
  if (changes === undefined || desk !== screen.desk) return;
  if (!changes || isOnce(surface, desk.text)) { toast('These words stand nowhere else'); return; }
  if (await confirm('The same everywhere', `“${surface}” becomes ${meaning} at ${plural(changes, 'place')} of this document. One undo takes all back.`, `Apply to ${changes}`)) {
    desk.do('spread', {mention: id});
  }
}

/** Return whether words stand in a text once at most; case does not count. */
function isOnce(surface, text) {
  const [words, all] = [surface.toLowerCase(), text.toLowerCase()];
  return all.indexOf(words) === all.lastIndexOf(words);
}

/** Put it in all open documents of the queue, those that are wanted; one undo takes all back. */
export async function spreadOverQueue(screen) {
  if (!screen.mention || screen.locked || screen.selecting) return;
  const {desk, mention} = screen;
  if (mention.parts.length > 1) { toast('A mention of several parts cannot be looked for elsewhere'); return; }
  if (mention.concepts === null || mention.open) { toast('Decide first what these words mean'); return; }
  await screen.tell(() => desk.saved());
  const found = await screen.tell(() => api.get(`/assignments/${desk.id}/elsewhere?${new URLSearchParams({mention: mention.id})}`));
  if (!found || desk !== screen.desk) return;
  const surface = desk.surface(mention), meaning = screen.meaning(mention);
  if (!found.documents.length) { toast(`“${surface}” stands in no other open document of yours, or is decided there`); return; }
  const chosen = await askWhere(found.documents, surface, meaning);
  if (!chosen?.length) return;
  const {concepts, types, alternatives, nil} = mention;
  await give(screen, chosen, {surface, concepts, types, alternatives, nil});
}

function askWhere(documents, surface, meaning) {
  const wanted = new Set(documents);
  const places = () => [...wanted].reduce((sum, one) => sum + one.changes, 0);
  return dialog('The same in your queue', (close, redraw) => html`
    <p>“${surface}” becomes ${meaning} in these documents. One undo takes all back.</p>
    <ul class="rows preview">${documents.map((one, number) => html`<li><label class="line">
      <input type="checkbox" ?autofocus=${number === 0} .checked=${wanted.has(one)} @change=${(event) => { if (event.target.checked) wanted.add(one); else wanted.delete(one); redraw(); }}
        @keydown=${(event) => { if (event.key === 'Enter') { event.preventDefault(); close([...wanted]); } }}>
      <span>${one.ext_id}${one.changes > 1 ? `, ${one.changes} places` : ''}<br><small>…${one.before}<mark class="user">${one.words}</mark>${one.after}…</small></span></label></li>`)}</ul>
    <footer><button type="button" @click=${() => close()}>Cancel</button>
      <button type="button" class="main" ?disabled=${!wanted.size} @click=${() => close([...wanted])}>Apply to ${plural(places(), 'place')}</button></footer>`);
}

/** Give the command to each document, without this browser keeping its words; what cannot be reached now is told. */
async function give(screen, documents, fields) {
  const done = [];
  for (const {assignment} of documents) {
    const seq = await command(assignment, {op: 'spread', kb: screen.kb, ...fields}).catch(() => null);
    if (seq !== null) done.push({assignment, seq});
  }
  const undo = () => takeBack(done);
  screen.overQueue = {given: screen.desk?.given, undo};
  const missed = documents.length - done.length;
  toast(`Applied in ${plural(done.length, 'document')}${missed ? `; ${missed} could not be changed` : ''}`, done.length ? {action: {label: 'Undo', run: undo}} : {kind: 'bad'});
}

/** Undo in each document, unless something was decided there since. */
async function takeBack(done) {
  let left = 0;
  for (const {assignment, seq} of done) {
    const undone = await command(assignment, {op: 'undo'}, seq).catch(() => null);
    if (undone === null) left += 1;
  }
  toast(`Undone in ${plural(done.length - left, 'document')}${left ? `; not in ${left}, where more was decided since: undo it there` : ''}`);
}

/** Give one command to an assignment that is not on the screen; returns its version then. With `at`, only if it is at this one. */
async function command(assignment, fields, at = null) {
  const {seq, run} = await api.get(`/assignments/${assignment}`);
  if (at !== null && at !== seq) throw new Error('more was decided since');
  const answer = await api.post(`/assignments/${assignment}/commands`, {commands: [{id: uuid(), seen: {run}, ...fields}]}, {headers: {'If-Match': `"${seq}"`}});
  return answer.seq;
}

/** Put a mention for each conjunct in the place of one: “breast and ovarian cancer”. */
export async function split(screen) {
  if (!screen.mention || screen.locked || screen.selecting) return;
  const {desk, mention} = screen;
  const surface = desk.surface(mention);
  if (mention.parts.length > 1) { toast('A mention of several parts is split already'); return; }
  const found = await screen.tell(() => api.get(`/projects/${screen.project}/conjuncts?${new URLSearchParams({text: surface.slice(0, 1000)})}`));
  if (!found || desk !== screen.desk || mention.id !== screen.at) return;
  const {readings} = found;
  if (!readings.length) { toast(`“${surface}” does not read as several: it has no “and”, “or” or commas between words that share others`); return; }
  const clear = readings.length === 1 || (readings[0].every((one) => one.named) && !readings[1].every((one) => one.named));
  const way = clear ? readings[0] : await askReading(readings, surface);
  if (!way || desk !== screen.desk) return;
  const [[start]] = mention.parts;
  desk.do('split', {mention: mention.id, pieces: way.map((one) => one.parts.map(([from, to]) => [start + from, start + to]))});
}

function askReading(readings, surface) {
  return dialog(`Split “${surface}”`, (close) => html`<p>Which of these is meant?</p>
    <div class="choices stacked">${readings.map((way, number) => html`<button type="button" ?autofocus=${number === 0} @click=${() => close(way)}>
      ${way.map((one, place) => html`${place ? ' + ' : nothing}<b>${one.words}</b>`)}</button>`)}</div>`);
}
