// What forms share: fields with hints and errors, what the server says as sentences, secrets that are shown once.

import {html, nothing, toast} from './base.js';

/** Return what a server says as a sentence: `there is no such user` becomes `There is no such user.` */
export function sentence(text) {
  const said = String(text || '').trim();
  return said && said[0].toUpperCase() + said.slice(1) + (/[.!?…]$/.test(said) ? '' : '.');
}

/** Return what is wrong by field, `{name: sentence}`; under '' what is about none. `words` tells which field a text is about. */
export function faultsOf(error, words = {}) {
  const found = {};
  for (const {pointer, message} of error.more?.errors || []) {
    const name = pointer.split('/').pop();
    found[name in words ? name : ''] ??= sentence(message);
  }
  if (Object.keys(found).length) return found;
  const said = error.detail || error.message;
  const name = Object.keys(words).find((one) => words[one].test(said)) || '';
  return {[name]: sentence(said)};
}

/** Draw a field: label, hint, error. `input` gets `{id, by, invalid}` for its attributes. */
export function field({id, label, hint = nothing, wrong = ''}, input) {
  const by = [hint !== nothing && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(' ');
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${input({id, by: by || nothing, invalid: wrong ? 'true' : nothing})}
    ${hint === nothing ? nothing : html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${wrong ? html`<p class="wrong" id=${`${id}-wrong`}>${wrong}</p>` : nothing}
  </div>`;
}

/** Put the focus on the first field that something is wrong with; returns whether there is one. */
export function focusWrong(root) {
  const found = root.querySelector('[aria-invalid=true]');
  found?.focus();
  return Boolean(found);
}

/** Draw what only screen readers are told of a button: whom or what it is about. */
export const about = (text) => html`<span class="unseen">: ${text}</span>`;

/** Draw the row of a table's heads. */
export const heads = (...names) => html`<tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr>`;

/** Put the focus somewhere near when what had it is gone: on the first element that fits, or else the panel. */
export function keepFocus(view, selector) {
  if (document.activeElement === document.body) (view.querySelector(selector) || view.querySelector('[data-panel]'))?.focus();
}

/** Draw a text that is shown once, with a button that copies it. */
export function secretBox(id, label, text) {
  return html`<div class="secret">
    <label for=${id}>${label}</label>
    <div class="row"><input id=${id} readonly .value=${text} @focus=${(event) => event.target.select()}>
      <button type="button" @click=${(event) => copy(text, event.target)}>Copy</button></div>
  </div>`;
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied');
  } catch {  // browsers allow it only over TLS or at this machine
    button.parentElement.querySelector('input').focus();
    toast('Press Ctrl+C to copy what is selected');
  }
}
