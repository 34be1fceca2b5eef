// How concepts of a knowledge base are related, found by climbing to what is above them.

import {ApiError} from './api.js';
import {readConcept} from './kb.js';

const HIGHEST = 4;  // levels that are climbed
/** Return a concept, null if there is none with this id. */
const read = (kb, project, id) => readConcept(kb, project, id).catch((error) => {
  if (error instanceof ApiError && error.status < 500 && error.status !== 401) return null;
  throw error;
});

/** Return a concept and what is above it, by id: `{level, name}`; null if there is no such concept. */
async function climb(kb, project, id) {
  const first = await read(kb, project, id);
  if (!first) return null;
  const found = new Map([[first.id, {level: 0, name: first.name}]]);
  let here = [first];
  for (let level = 1; level <= HIGHEST && here.length; level += 1) {
    const next = new Set();
    for (const parent of here.flatMap((one) => one.parents)) {
      if (!found.has(parent.id)) { found.set(parent.id, {level, name: parent.name}); next.add(parent.id); }
    }
    here = level < HIGHEST ? (await Promise.all([...next].map((one) => read(kb, project, one)))).filter(Boolean) : [];
  }
  return found;
}

const ORDER = {1: 'parent and child', 2: 'grandparent and grandchild'};
const levels = (count) => (count === 1 ? '1 level' : `${count} levels`);

/** Return in words how two concepts are related: `siblings: both are kinds of “Seizure”`. */
export async function kinship(kb, project, one, other) {
  if (one === other) return 'the same concept';
  const [ours, theirs] = await Promise.all([climb(kb, project, one), climb(kb, project, other)]);
  if (!ours || !theirs) return 'one of them is not in the knowledge base';
  const shared = [...ours].filter(([id]) => theirs.has(id)).map(([id, {level, name}]) => ({name, up: level, down: theirs.get(id).level}));
  shared.sort((a, b) => a.up + a.down - b.up - b.down || Math.max(a.up, a.down) - Math.max(b.up, b.down));
  const [nearest] = shared;
  if (!nearest) return `nothing in common in the ${HIGHEST} levels above them`;
  const {up, down, name} = nearest;
  if (!up && !down) return 'the same concept: one of the ids is an older one';
  const [mine, yours] = [ours, theirs].map((found) => found.values().next().value.name);
  if (!up || !down) {
    const [lower, upper] = up ? [mine, yours] : [yours, mine];
    return `${ORDER[up + down] ?? `${levels(up + down)} apart in one line`}: “${lower}” is a kind of “${upper}”`;
  }
  if (up === 1 && down === 1) return `siblings: both are kinds of “${name}”`;
  return `both are kinds of “${name}”, ${up === down ? `${levels(up)} below it` : `${levels(up)} and ${levels(down)} below it`}`;
}

/** Return in words how two lists of concepts are related; '' where one is empty or both are the same. */
export async function kinshipOf(kb, project, ones, others) {
  if (!kb || !ones.length || !others.length) return '';
  const mine = ones.filter((id) => !others.includes(id)), yours = others.filter((id) => !ones.includes(id));
  if (!mine.length && !yours.length) return '';
  if (mine.length === 1 && yours.length === 1) return kinship(kb, project, mine[0], yours[0]);
  if (!mine.length || !yours.length) return 'one has all concepts of the other, and more';
  const common = ones.length - mine.length;
  return common ? `${common} of their concepts in common` : 'no concept in common';
}
