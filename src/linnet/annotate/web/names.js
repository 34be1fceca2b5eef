// Names of concepts, asked for many at a time and kept: a version of a knowledge base never changes.

import {api, query} from './api.js';

const MOST = 100;
const PAUSE = 5000;  // milliseconds after a failure in which nothing is asked for
const kept = new Map();  // by version and id
let wanted = new Map(), promise = null, pausedUntil = 0;

const keyOf = (kb, id) => `${kb} ${id}`;

/** Return what is known of a concept now: `{id, name, types, definition, above}`, null if it has to be asked for. */
export const known = (kb, id) => kept.get(keyOf(kb, id)) ?? null;

/** Return the name of a concept, its id while that is not known. */
export const nameOf = (kb, id) => known(kb, id)?.name ?? id;

/** Ask for concepts that are not known yet; resolves when they are, or cannot be. Returns whether there is anything new. */
export async function learn(kb, project, ids) {
  const lacking = [...new Set(ids)].filter((id) => id && !kept.has(keyOf(kb, id)));
  if (!kb || !lacking.length || performance.now() < pausedUntil) return false;
  for (const id of lacking) wanted.set(keyOf(kb, id), {kb, project, id});
  promise ||= new Promise((resolve) => { setTimeout(() => { promise = null; resolve(fetchAll()); }); });
  return promise;
}

async function fetchAll() {
  const all = [...wanted.values()];
  wanted = new Map();
  let news = false;
  for (let from = 0; from < all.length; from += MOST) {
    const some = all.slice(from, from + MOST);
    const {kb, project} = some[0];
    const found = await api.get(`/kb/${kb}/concepts${query({id: some.map((one) => one.id), project})}`).catch(() => null);
    if (!found) { pausedUntil = performance.now() + PAUSE; continue; }  // who shows them asks again
    news = true;
    for (const one of found) kept.set(keyOf(kb, one.asked), one);
    for (const one of some) if (!kept.has(keyOf(kb, one.id))) kept.set(keyOf(kb, one.id), {id: one.id, name: one.id, types: [], definition: '', above: []});
  }
  return news;
}
