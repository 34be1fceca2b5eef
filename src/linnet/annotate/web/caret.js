// A caret in a text that nobody types into: it goes by words and sentences, and selects them.

import {say} from './base.js';
import {snapped, trimmed, wordAt} from './text.js';

const highlights = globalThis.CSS?.highlights;

export class Caret {
  constructor(view, desk) {
    Object.assign(this, {view, words: desk.words, offsets: desk.offsets, at: 0, anchor: null, letters: ''});
  }

  /** Show ranges of the page as chosen; none clears it. */
  static choose(ranges) { highlights?.set('choice', new Highlight(...ranges)); }
  static clear() { highlights?.delete('choice'); highlights?.delete('caret'); }

  /** Put the caret at the word that holds a code point. */
  to(point) {
    this.anchor = null;
    this.at = wordAt(this.words, point);
    highlights?.delete('caret');
  }

  /** Go some words on; with `extend` everything from where that began is selected. */
  step(by, {extend = false} = {}) {
    if (!this.words.length) return;
    if (extend && this.anchor === null) this.anchor = this.at + (by < 0 ? -1 : 0);
    else if (extend) this.at += by;
    else { this.anchor = null; this.at += by; }
    this.at = Math.max(0, Math.min(this.words.length - 1, this.at));
    this.show();
  }

  sentence(by) {
    const ends = (number) => /^[.!?\n]$/.test(this.offsets.slice(...this.words[number])) || this.offsets.slice(this.words[number][1], this.words[number + 1]?.[0] ?? this.words[number][1]).includes('\n');
    let next = this.at;
    if (by > 0) {
      while (next + 1 < this.words.length && !ends(next)) next += 1;
      next += 1;
    } else {
      next -= 1;
      while (next > 0 && !ends(next - 1)) next -= 1;
    }
    this.anchor = null;
    this.at = Math.max(0, Math.min(this.words.length - 1, next));
    this.show();
  }

  /** Return what is selected by keys, as one part in a list; null if nothing is. */
  selected() {
    if (this.anchor === null) return null;
    const first = Math.max(0, Math.min(this.anchor, this.at)), last = Math.max(this.anchor, this.at);
    return [[this.words[first][0], this.words[last][1]]];
  }

  /** Whether a word is shown as that of the caret, and nothing is selected. */
  get shown() { return this.anchor === null && Boolean(highlights?.has('caret')); }

  drop() { this.anchor = null; highlights?.delete('caret'); }

  /** Return a stretch that was selected by pointer as a part: whole words, or without blanks at its ends. */
  fit(start, end, {snap}) { return snap ? snapped(this.words, this.offsets, start, end) : trimmed(this.offsets, start, end); }

  /** Return where an edge goes when it moves a word on: to the end of a word, or to its beginning for the left edge. */
  edge(point, by, left) {
    const places = this.words.map((word) => word[left ? 0 : 1]);
    return by > 0 ? places.find((place) => place > point) ?? point : places.findLast((place) => place < point) ?? point;
  }

  show() {
    if (!this.words.length) return;
    const [start, end] = this.selected()?.[0] || this.words[this.at];
    const range = this.view.rangeOf(start, end);
    highlights?.set('caret', new Highlight(range));
    range.startContainer.parentElement?.scrollIntoView({block: 'nearest', behavior: 'instant'});
    say(this.offsets.slice(start, end));
  }

  /** Jump to words by the letters that are typed next; ↓ goes to the next one. Any other key, a click or another field ends it. */
  find(over) {
    this.endFind();
    this.letters = '';
    this.over = over;
    this.finding = new AbortController();
    const always = {capture: true, signal: this.finding.signal};
    addEventListener('keydown', (event) => this.press(event), always);
    addEventListener('pointerdown', () => this.endFind(), always);
    addEventListener('focusin', (event) => { if (!this.view.root.contains(event.target)) this.endFind(); }, always);
    say('Find: type the first letters of a word; Enter selects it');
  }

  press(event) {
    if (['Shift', 'Control', 'Alt', 'Meta'].includes(event.key)) return;
    const elsewhere = !this.view.root.isConnected || event.target.closest?.('input, textarea, select');
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (elsewhere || !plain) { this.endFind(); return; }
    if (/^[\p{L}\p{N}]$/u.test(event.key)) { this.letters += event.key.toLowerCase(); this.jump(this.at); }
    else if (event.key === 'ArrowDown' && this.letters) this.jump(this.at + 1);
    else { this.endFind(); return; }
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  endFind() {
    if (!this.finding) return;
    this.finding.abort();
    this.finding = null;
    this.over?.();
  }

  jump(from) {
    const size = this.words.length;
    for (let count = 0; count < size; count += 1) {
      const number = (from + count) % size;
      if (this.offsets.slice(...this.words[number]).toLowerCase().startsWith(this.letters)) { this.anchor = null; this.at = number; this.show(); return; }
    }
    say('No such word');
  }
}
