// The one table of keys: it feeds the handlers, the help sheet, the palette and the tests.
//
// Single letters act only while a panel that asks for them (`data-keys`) has the focus, never in a field, never while a
// character is being composed. Keys are matched by `event.key`, whatever the layout of the keyboard.

/** Contexts: `anywhere`, or the name of a panel's `data-keys`. */
export const CONTEXTS = {
  anywhere: 'Anywhere', project: 'Project', mentions: 'Between mentions', decide: 'Decide', edges: 'Edges of a mention',
  create: 'New mention', spread: 'Many at once', history: 'Undo', document: 'Document', picker: 'Concepts',
  adjudicate: 'Adjudicate',
};

const row = (context, id, keys, label) => ({context, id, keys: keys.split('  ').filter(Boolean), label});

export const TABLE = [
  row('anywhere', 'help', '?', 'Show all keys'),
  row('anywhere', 'palette', 'Ctrl+k', 'Find an action'),
  row('anywhere', 'next-panel', 'F6', 'Next panel'),
  row('anywhere', 'previous-panel', 'Shift+F6', 'Previous panel'),
  row('anywhere', 'go-projects', 'g p', 'Go to all projects'),
  row('anywhere', 'go-settings', 'g s', 'Go to settings: keys, theme, password'),
  row('anywhere', 'sign-out', '', 'Sign out'),
  row('anywhere', 'go-project', 'g q', 'Go to project and queue'),
  row('anywhere', 'go-annotate', 'g a', 'Go to the document'),
  row('anywhere', 'go-concepts', 'g k', 'Go to concepts'),
  row('anywhere', 'go-models', 'g t', 'Go to training and models'),
  row('anywhere', 'go-adjudicate', 'g j', 'Go to adjudication'),
  row('anywhere', 'go-team', 'g m', 'Go to team and quality'),
  row('anywhere', 'guidelines', 'g d', 'Show the guidelines'),
  row('anywhere', 'back', 'Escape', 'Back out one level'),
  row('project', 'resume', 'Enter', 'Resume where you stopped'),
  row('project', 'upload', 'u', 'Upload files'),
  row('project', 'draw', 'd', 'Get more documents'),
  row('mentions', 'next-open', 'n', 'Next undecided mention'),
  row('mentions', 'previous-open', 'p', 'Previous undecided mention'),
  row('mentions', 'next', 'j', 'Next mention'),
  row('mentions', 'previous', 'k', 'Previous mention'),
  row('mentions', 'first', 'Home', 'First mention'),
  row('mentions', 'last', 'End', 'Last mention'),
  row('mentions', 'under', 'l', 'Other mentions of the same characters'),
  row('decide', 'accept', 'a', 'Accept, and go on'),
  row('decide', 'reject', 'r', 'Reject, and go on'),
  row('decide', 'choose', '1  2  3  4  5  6  7  8  9', 'Take a candidate, and go on'),
  row('decide', 'nil', '0', 'None of the knowledge base (NIL)'),
  row('decide', 'unsure', 'u', 'Unsure'),
  row('decide', 'skip', ' ', 'Skip without a decision'),
  row('decide', 'delete', 'x', 'Delete the mention'),
  row('decide', 'type', 't', 'Type'),
  row('decide', 'details', 'i', 'Details of the first candidate'),
  row('decide', 'comment', 'c', 'Comment'),
  row('decide', 'bookmark', 'b', 'Bookmark, to come back to it'),
  row('decide', 'search', '/', 'Search another concept'),
  row('edges', 'edges', 'e', 'Move the edges'),
  row('edges', 'fragment', 'd', 'Add or remove a part'),
  row('edges', 'split', 's', 'Split “breast and ovarian cancer” in two'),
  row('create', 'word-right', 'ArrowRight', 'Caret to the next word'),
  row('create', 'word-left', 'ArrowLeft', 'Caret to the word before'),
  row('create', 'sentence-down', 'ArrowDown', 'Caret to the next sentence'),
  row('create', 'sentence-up', 'ArrowUp', 'Caret to the sentence before'),
  row('create', 'extend-right', 'Shift+ArrowRight', 'Select a word more'),
  row('create', 'extend-left', 'Shift+ArrowLeft', 'Select a word less'),
  row('create', 'create', 'Enter', 'Select the word of the caret; again: mark it; again: take the first candidate'),
  row('create', 'find', 'f', 'Jump to a word by its first letters'),
  row('spread', 'spread', 'o', 'The same to all occurrences in the document'),
  row('spread', 'spread-queue', 'O', 'The same in all documents of my queue'),
  row('spread', 'accept-over', 'A', 'Accept all above a probability'),
  row('history', 'undo', 'z  Ctrl+z', 'Undo'),
  row('history', 'redo', 'y  Ctrl+Z', 'Redo'),
  row('document', 'done', 'Ctrl+Enter', 'Done, and the next document'),
  row('document', 'next-document', '.', 'Next document of the queue'),
  row('document', 'previous-document', ',', 'Document of the queue before'),
  row('document', 'layers', 'v', 'Which layers are shown'),
  row('document', 'hide', 'h', 'Hide marks while held'),
  row('picker', 'pick', '1  2  3  4  5  6  7  8  9', 'In the list: take a concept'),
  row('picker', 'pick-nil', '0', 'In the list: none of the knowledge base (NIL)'),
  row('picker', 'pick-unsure', 'u', 'In the list: unsure'),
  row('picker', 'pick-below', 'b', 'In the list: search below this concept only'),
  row('picker', 'pick-tree', 'ArrowRight', 'In the list: the tree below this concept'),
  row('picker', 'pick-details', 'i', 'In the list: details of this concept'),
  row('picker', 'pick-field', '/', 'In the list: back into the field'),
  row('adjudicate', 'take-left', '1', 'Take the left one'),
  row('adjudicate', 'take-right', '2', 'Take the right one'),
  row('adjudicate', 'take-both', '3', 'Take both'),
  row('adjudicate', 'take-other', '/', 'Search another concept'),
  row('adjudicate', 'take-none', 'x', 'Take none'),
  row('adjudicate', 'next-conflict', 'n', 'Next conflict'),
  row('adjudicate', 'previous-conflict', 'p', 'Conflict before'),
  row('adjudicate', 'comment-conflict', 'c', 'Comment to both'),
];

// contexts whose keys act together, in one screen
const TOGETHER = [
  ['mentions', 'decide', 'edges', 'create', 'spread', 'history', 'document'], ['project'],
  ['adjudicate', 'history', 'document'], ['picker'],
];
const ONCE = new Set(['decide', 'spread', 'history', 'document', 'project', 'adjudicate']);  // a key that is held acts once
// what browsers keep for themselves
const RESERVED = /^(Ctrl\+(n|t|w|[0-9])|Alt\+(ArrowLeft|[0-9])|Shift\+ )$/;
const STORED = 'linnet.keys';

const chosen = () => JSON.parse(localStorage.getItem(STORED) || '{}');

/** Return the keys of an action as they are now; [] = switched off. */
export function keysOf(id) {
  return chosen()[id] ?? TABLE.find((one) => one.id === id).keys;
}

/** Return the actions that a key would clash with, if it were one of an action's keys. */
export function clashes(id, key) {
  const own = TABLE.find((one) => one.id === id);
  const beside = (context) => context === 'anywhere' || own.context === 'anywhere' ||
    TOGETHER.some((some) => some.includes(context) && some.includes(own.context));
  return TABLE.filter((one) => one.id !== id && beside(one.context) && keysOf(one.id).some((other) =>
    other === key || other.startsWith(`${key} `) || key.startsWith(`${other} `)));
}

/** Give an action other keys; throws a sentence where that cannot be. `null` = those of the table. */
export function remap(id, keys) {
  const all = chosen();
  delete all[id];
  if (keys !== null) {
    for (const key of keys) {
      if (RESERVED.test(key)) throw new Error(`${shown(key)} belongs to the browser`);
      const [other] = clashes(id, key);
      if (other) throw new Error(`${shown(key)} is “${other.label}” already`);
    }
    all[id] = keys;
  }
  localStorage.setItem(STORED, JSON.stringify(all));
}

/** Return the name of what was pressed: `a`, `A`, `Ctrl+Enter`, `Shift+ArrowRight`. */
export function nameOf(event) {
  let name = event.key;
  // a key means what it means without caps lock: else Ctrl+z would be Ctrl+Z, and undo would be redo
  if (name.length === 1 && event.getModifierState?.('CapsLock')) name = event.shiftKey ? name.toUpperCase() : name.toLowerCase();
  if (event.shiftKey && name.length > 1) name = `Shift+${name}`;
  if (event.altKey) name = `Alt+${name}`;
  if (event.ctrlKey || event.metaKey) name = `Ctrl+${name}`;
  return name;
}

const NAMES = {' ': 'Space', ArrowRight: '→', ArrowLeft: '←', ArrowUp: '↑', ArrowDown: '↓', Escape: 'Esc'};

/** Return how a key is shown to people. */
export function shown(key) {
  return key === ' ' ? 'Space' : key.split(' ').map((one) => one.split('+').map((part) => NAMES[part] ?? part).join('+'))
    .join(' ');
}

const bound = [];  // [{actions, element}], the innermost last
let first = '';  // the first key of a pair such as `g q`
let timer = 0;

/** Bind actions by id while something is shown; returns what unbinds them. */
export function bind(actions) {
  const one = {actions};
  bound.push(one);
  return () => bound.splice(bound.indexOf(one), 1);
}

/** Return the actions that can be done now, with their functions. */
export function available() {
  const found = new Map();
  for (const {actions} of bound) for (const [id, run] of Object.entries(actions)) found.set(id, run);
  return TABLE.filter((one) => found.has(one.id)).map((one) => ({...one, keys: keysOf(one.id), run: found.get(one.id)}));
}

const isField = (element) => element.closest?.('input:not([type=checkbox],[type=radio],[type=range]), textarea, select, [contenteditable]');

function actsIn(action, event) {
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !/^F\d/.test(event.key);
  // a field keeps its letters, and its own undo
  if (isField(event.target) && (action.context === 'history' || (plain && event.key !== 'Escape'))) return false;
  if (action.context === 'anywhere') return true;
  const panel = event.target.closest?.('[data-keys]');
  if (!plain) return true;
  if (!panel || event.target.closest('button, a, summary') && [' ', 'Enter'].includes(event.key)) return false;
  return panel.dataset.keys.split(' ').includes(action.context);
}

function press(event) {
  if (event.isComposing || event.defaultPrevented || ['Shift', 'Control', 'Alt', 'Meta'].includes(event.key)) return;
  if (document.querySelector('dialog:modal')) return;  // what stands behind a dialog rests
  const key = nameOf(event);
  const actions = available().filter((one) => actsIn(one, event));
  const pair = first && `${first} ${key}`;
  clearTimeout(timer);
  first = '';
  let found = pair && actions.find((one) => one.keys.includes(pair));
  found ||= actions.find((one) => one.keys.includes(key));
  if (found) {
    if (event.repeat && (ONCE.has(found.context) || found.id === 'create')) { event.preventDefault(); return; }
    if (found.run(event, key) === false) return;
    event.preventDefault();
  } else if (actions.some((one) => one.keys.some((other) => other.startsWith(`${key} `)))) {
    first = key;
    timer = setTimeout(() => { first = ''; }, 1500);
    event.preventDefault();
  }
}

addEventListener('keydown', press);
