// What the screen of a document asks in dialogs. `screen` is the element `linnet-annotate`.

import {dialog, html, plural, problem, remembered, say, share, state} from './base.js';
import {describeKb} from './kb.js';
import {learn, nameOf} from './names.js';

/** The layers of mentions, and where they come from. */
export const LAYERS = {gold: 'GOLD: came with the document', user: 'USER: decided by people', pred: 'PRED: suggested by a model'};

/** Choose the type of the mention that has the focus. */
export async function askType(screen) {
  if (!screen.mention || screen.locked) return;
  const {desk, at} = screen;
  const known = screen.kb ? Object.keys((await screen.tell(() => describeKb(screen.kb)))?.types || {}) : [];
  const types = [...new Set([...screen.mention.types, ...known])];
  const chosen = await dialog('Type of the mention', (close) => html`
    <label for="type-words">Type</label>
    <input id="type-words" list="types" autofocus autocomplete="off" value=${screen.mention?.types[0] ?? ''} @focus=${(event) => event.target.select()} @keydown=${(event) => { if (event.key === 'Enter' && event.target.value.trim()) { event.preventDefault(); close(event.target.value.trim()); } }}>
    <datalist id="types">${types.map((one) => html`<option value=${one}></option>`)}</datalist>
    <div class="choices">${types.slice(0, 12).map((one) => html`<button type="button" @click=${() => close(one)}>${one}</button>`)}</div>
    <footer><button type="button" class="main" @click=${(event) => close(event.target.closest('form').querySelector('#type-words').value.trim())}>Set the type</button></footer>`);
  if (chosen && desk === screen.desk && at === screen.at) screen.decide('type', {types: [chosen]}, {stay: true});
}

/** Comment on the mention that has the focus, or on the document. */
export async function comment(screen) {
  const {desk, mention} = screen;
  const said = desk.comments.filter((one) => one.mention === (mention?.id || ''));
  const unsaid = screen.unsaid ??= new Map(), about = `${desk.id} ${mention?.id ?? ''}`;  // Escape loses no words
  const text = await dialog(mention ? `Comment on “${desk.surface(mention)}”` : 'Comment on the document', (close) => html`
    <ul class="rows">${said.map((one) => html`<li><span><b>${one.actor}</b> ${one.text}</span></li>`)}</ul>
    <label for="comment-text">Comment</label><textarea id="comment-text" rows="3" autofocus .value=${unsaid.get(about) ?? ''} @input=${(event) => unsaid.set(about, event.target.value)} @keydown=${(event) => {
      if (event.key === 'Enter' && event.ctrlKey) { event.preventDefault(); event.stopPropagation(); close(event.target.value); }
    }}></textarea>
    <footer><button type="button" class="main" @click=${(event) => close(event.target.closest('form').querySelector('textarea').value)}>Comment</button></footer>`);
  if (text !== undefined) unsaid.delete(about);
  if (text?.trim()) desk.do('comment', {text: text.trim(), ...(mention ? {mention: mention.id} : {})});
}

/** Accept all suggestions above a probability, which is chosen with a preview. */
export async function acceptOver(screen) {
  if (screen.locked) return;
  const {desk} = screen;
  const calibrated = screen.mentions.some((one) => one.open && one.calibration);
  let p = remembered.get('accept-over', 0.9), changes = null, last = 0, wrong = '';
  const ask = async (redraw) => {
    const now = ++last;
    wrong = '';
    const found = await desk.preview('accept_over', {p}).catch((error) => { if (now === last) wrong = `They cannot be counted: ${error.message}`; return null; });
    if (now === last) { changes = found; redraw(); }
  };
  let asked = false;
  const chosen = await dialog('Accept all above a probability', (close, redraw) => {
    if (!asked) { asked = true; setTimeout(() => ask(redraw)); }
    const apply = () => { if (changes) close(p); };
    return html`${calibrated ? '' : html`<p class="warn">These scores are not calibrated: 90 of 100 with .90 need not be right. Look at the list.</p>`}
      <label for="over-p">At least ${Math.round(p * 100)} percent</label>
      <input id="over-p" type="range" min="0.5" max="0.99" step="0.01" autofocus .value=${String(p)}
        @input=${(event) => { p = Number(event.target.value); changes = null; ask(redraw); }}
        @keydown=${(event) => { if (event.key === 'Enter') { event.preventDefault(); apply(); } }}>
      <p role="status">${wrong || (changes === null) ? wrong || 'Counting…' : `${plural(changes, 'suggestion')} will be accepted. One undo takes all back.`}</p>
      <ul class="rows preview">${screen.mentions.filter((one) => one.open && (one.p ?? 0) >= p).slice(0, 50).map((one) => html`
        <li><span>${screen.desk.surface(one)}</span><span>${screen.meaning(one)} ${share(one.p)}</span></li>`)}</ul>
      <footer><button type="button" class="main" ?disabled=${!changes} @click=${apply}>Accept ${changes ?? ''}</button></footer>`;
  });
  if (chosen) { remembered.set('accept-over', chosen); desk.do('accept_over', {p: chosen}); }
}

/** Choose which layers are shown, and how. */
export async function askLayers(screen) {
  await dialog('Which layers are shown', () => html`${Object.entries(LAYERS).map(([layer, label], number) => html`
    <label class="line"><input type="checkbox" ?autofocus=${number === 0} .checked=${screen.layers.has(layer)} @change=${(event) => {
      if (event.target.checked) screen.layers.add(layer); else screen.layers.delete(layer);
      screen.refresh();
    }}><span class="swatch ${layer}">${layer[0].toUpperCase()}</span> ${label}</label>`)}
    <label class="line"><input type="checkbox" .checked=${screen.showP} @change=${(event) => { remembered.set('show-p', event.target.checked); screen.refresh(); }}> Show probabilities</label>
    <label class="line"><input type="checkbox" .checked=${remembered.get('snap', true)} @change=${(event) => remembered.set('snap', event.target.checked)}> Selections snap to words</label>`);
}

let settling = Promise.resolve();  // one conflict is asked about after the other

/** Show the three values of a conflict, and ask which of them is to stand. The document need not be on the screen any more. */
export function settle(screen, desk, detail) {
  settling = settling.then(() => askWhich(screen, desk, detail)).catch(problem);
}

async function askWhich(screen, desk, {command, conflicts}) {
  const [one] = conflicts;
  const said = (value) => (value === null ? 'as it was suggested, or nothing' : value.state && value.state !== 'live' ? value.state : value.concepts
    ? `${desk.surface(value)}: ${value.concepts.map((id) => nameOf(screen.kb, id)).join(' + ') || 'NIL'}` : 'marked, not linked');
  const values = Object.values(one).filter((value) => value && typeof value === 'object');
  await learn(screen.kb, screen.project, values.flatMap((value) => value.concepts || []));
  const marked = values.find((value) => value.parts) ?? desk.pred.get(one.mention) ?? desk.gold.get(one.mention);
  const words = marked ? `“${desk.surface(marked)}”` : 'this mention';
  const who = one.actor === state.me.name ? 'You, in another tab' : one.actor;
  const title = `${who === one.actor ? 'Somebody else has' : 'You have'} changed ${words}${desk === screen.desk ? '' : ` in “${desk.doc.ext_id}”`}`;
  const asked = dialog(title, (close) => html`
    <dl class="three"><dt>Before</dt><dd>${said(one.base)}</dd><dt>${who}</dt><dd>${said(one.theirs)}</dd><dt>You, here</dt><dd>${said(one.yours)}</dd></dl>
    <footer><button type="button" @click=${() => close(false)}>Keep ${who === one.actor ? 'theirs' : 'the other one'}</button><button type="button" class="main" autofocus @click=${() => close(true)}>Take mine</button></footer>`);
  say(title, true);  // within the dialog: what stands outside of it is not read
  if (await asked) desk.again(command);
}
