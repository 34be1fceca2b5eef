// What is below a concept, as a tree: read level by level, a page at a time, moved through as trees are.

import {count, html, nothing, repeat, say, View} from './base.js';
import {readChildren, readConcept} from './kb.js';

let trees = 0, nodes = 0;

/** Return a node of a tree: `below` is null until it is read, `rest` stands for what has not been read of it yet. */
function nodeOf({id, name, children}, above, level, place = 0) {
  nodes += 1;
  const node = {key: nodes, id, name, children, above, level, place, open: false, below: null, next: null};
  node.rest = {key: `${nodes}-rest`, of: node, above: level ? node : null, level: level + 1};
  return node;
}

/** A tree of concepts. Events: `open` {id, name, more} where somebody chooses one, `leave` at ← on the top, `moved` to another. */
class Tree extends View {
  static properties = {kb: {}, project: {type: Number}, concept: {}, whole: {type: Boolean}, label: {}, at: {state: true}};

  constructor() {
    super();
    trees += 1;
    this.uid = `tree-${trees}`;
    Object.assign(this, {whole: false, label: '', at: null, top: null, parents: []});
  }

  willUpdate(changed) {
    if (['concept', 'kb', 'whole'].some((one) => changed.has(one)) && this.kb && this.concept) this.begin(this.concept);
  }

  /** Begin with a concept: with `whole` it is the top of the tree itself, else what is below it is. */
  async begin(id) {
    this.top = this.at = null;
    await this.tell(async () => {
      const found = await readConcept(this.kb, this.project, id);
      const top = nodeOf(found, null, this.whole ? 1 : 0);
      await this.unfold(top);
      if (id !== this.concept) return;
      this.parents = found.parents;
      this.top = top;
      [this.at = null] = this.seen;
      if (this.held) this.focus();
    });
  }

  updated(changed) {
    if (changed.has('at')) this.dispatchEvent(new CustomEvent('moved', {bubbles: true}));
  }

  /** Return all that can be seen, from top to bottom. */
  get seen() {
    const walk = (node) => [
      ...(node.level ? [node] : []),
      ...(node.open ? [...node.below.flatMap(walk), ...(node.next ? [node.rest] : [])] : []),
    ];
    return this.top ? walk(this.top) : [];
  }

  /** The concept with the focus: `{id, name}`, null where there is none. */
  get active() { return this.at?.of ? null : this.at; }

  /** Put the focus into the tree, as soon as there is one. */
  async focus() {
    this.held = !this.top;
    await this.updateComplete;
    this.querySelector('[role=tree]')?.focus({preventScroll: true});
  }

  async unfold(node) {
    if (!node.below) await this.read(node);
    node.open = true;
    this.requestUpdate();
  }

  /** Read the next page of what is below a node. */
  async read(node) {
    const before = node.below || [];
    const {children, next} = node.children ? await readChildren(this.kb, node.id, node.next ?? 0) : {children: [], next: null};
    const above = node.level ? node : null;
    node.below = [...before, ...children.map((one, number) => nodeOf(one, above, node.level + 1, before.length + number + 1))];
    node.next = next;
    return node.below[before.length];
  }

  async readRest({of}) {
    const first = await this.tell(() => this.read(of));
    if (first) this.at = first;
    this.requestUpdate();
  }

  move(to) {
    const {seen} = this;
    this.at = seen[Math.max(0, Math.min(to, seen.length - 1))] ?? null;
    this.updateComplete.then(() => this.querySelector('[aria-selected=true]')?.scrollIntoView({block: 'nearest'}));
  }

  /** Open a node, or go to the first one below it. */
  into(node) {
    if (!node.children) say('Nothing below it');
    else if (node.open) this.move(this.seen.indexOf(node) + 1);
    else this.tell(() => this.unfold(node));
  }

  /** Close a node, or go to the one above it, or leave the tree. */
  out(node) {
    if (node.open && node.children && node.above) this.fold(node);
    else if (node.above) this.move(this.seen.indexOf(node.above));
    else this.dispatchEvent(new CustomEvent('leave', {bubbles: true}));
  }

  fold(node) {
    node.open = false;
    this.requestUpdate();
  }

  choose(node, more = false) {
    this.dispatchEvent(new CustomEvent('open', {bubbles: true, detail: {id: node.id, name: node.name, more}}));
  }

  key(event) {
    const {at, seen} = this;
    if (event.ctrlKey || event.altKey || event.metaKey || !at) return;
    const number = seen.indexOf(at);
    const run = {
      ArrowDown: () => this.move(number + 1), ArrowUp: () => this.move(number - 1),
      Home: () => this.move(0), End: () => this.move(seen.length - 1),
      ArrowRight: () => (at.of ? this.readRest(at) : this.into(at)),
      ArrowLeft: () => this.out(at),
      Enter: () => (at.of ? this.readRest(at) : this.choose(at, event.shiftKey)),
    }[event.key];
    if (!run) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  }

  idOf(node) { return `${this.uid}-${node.key}`; }

  drawNode(node) {
    const {id, name, children, open, level, place, above} = node;
    const toggle = (event) => {
      event.stopPropagation();
      this.at = node;
      if (open) this.fold(node); else this.into(node);
    };
    const choose = (event) => {
      this.at = node;
      this.choose(node, event.shiftKey);
    };
    const beside = above?.children ?? (place ? this.top.children : 1);
    return html`<div role="treeitem" class="node level-${Math.min(level, 9)}" id=${this.idOf(node)} aria-level=${level}
        aria-selected=${node === this.at} aria-expanded=${children ? open : nothing} aria-posinset=${place || 1} aria-setsize=${beside}
        aria-label=${`${name}, ${id}${children ? `, ${children} below` : ''}`} @click=${choose}>
      <span class="twist" aria-hidden="true" @click=${children ? toggle : nothing}>${children ? (open ? '▾' : '▸') : ''}</span>
      <span class="name">${name}</span> <code>${id}</code> ${children ? html`<small>${count(children)}</small>` : nothing}</div>`;
  }

  drawRest(rest) {
    const left = rest.of.children - rest.of.below.length;
    return html`<div role="treeitem" class="node level-${Math.min(rest.level, 9)}" id=${this.idOf(rest)} aria-level=${rest.level}
        aria-selected=${rest === this.at} @click=${() => this.readRest(rest)}>
      <span class="twist" aria-hidden="true">…</span> <span class="name">Show more, ${count(left)} left</span></div>`;
  }

  render() {
    const {seen} = this;
    if (!seen.length) return nothing;
    const climb = (one) => {
      this.concept = one.id;
      this.focus();
    };
    return html`
      ${this.whole && this.parents.length ? html`<p class="tree-above">${this.parents.map((one) => html`
        <button type="button" class="quiet" @click=${() => climb(one)}>▴ ${one.name}</button>`)}</p>` : nothing}
      <div role="tree" class="tree" tabindex="0" aria-label=${this.label || 'Concepts'}
        aria-activedescendant=${this.at ? this.idOf(this.at) : nothing} @keydown=${(event) => this.key(event)}>
        ${repeat(seen, (one) => one.key, (one) => (one.of ? this.drawRest(one) : this.drawNode(one)))}</div>`;
  }
}

customElements.define('linnet-tree', Tree);
