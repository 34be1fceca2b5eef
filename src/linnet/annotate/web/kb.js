// What a knowledge base says of its concepts, kept: a version of it never changes.

import {api, query} from './api.js';

export const PAGE = 200;  // children that are listed at a time
const KEPT = 2000;  // answers
const answers = new Map();  // path -> promise

function ask(path, once = false) {
  if (answers.has(path)) return answers.get(path);
  const found = api.get(path);
  if (once) return found;
  answers.set(path, found);
  if (answers.size > KEPT) answers.delete(answers.keys().next().value);
  found.catch(() => answers.delete(path));
  return found;
}

const pathOf = (kb, id) => `/kb/${encodeURIComponent(kb)}/concepts/${encodeURIComponent(id)}`;

/** Return what a knowledge base is: its name, version, sizes, `{type: number of concepts}`. */
export const describeKb = (kb) => ask(`/kb/${encodeURIComponent(kb)}`);

/** Return a concept with its names and parents; those that a project has beyond the knowledge base may change. */
export const readConcept = (kb, project, id) => ask(pathOf(kb, id) + query({project}), id.startsWith('NEW:'));

/** Return a page of what is directly below a concept: `{children, next}`. */
export const readChildren = (kb, id, after = 0) => ask(`${pathOf(kb, id)}/children${query({after, limit: PAGE})}`);

const MOST_ABOVE = 80;  // concepts that are read to find paths
const MOST_PATHS = 12;

/** Return the paths that lead to a concept, each from the top to a parent: `{paths, more}`, more where there are others. */
export async function pathsTo(kb, project, concept) {
  const known = new Map([[concept.id, concept.parents]]);
  let level = concept.parents;
  while (level.length && known.size < MOST_ABOVE) {
    const lacking = [...new Set(level.map((one) => one.id))].filter((id) => !known.has(id));
    const found = await Promise.all(lacking.map((id) => readConcept(kb, project, id)));
    for (const one of found) known.set(one.id, one.parents);
    level = found.flatMap((one) => one.parents);
  }
  const paths = [];
  const climb = (path) => {
    if (paths.length > MOST_PATHS) return;
    const parents = (known.get(path[0].id) || []).filter((one) => !path.some((other) => other.id === one.id));
    if (!parents.length) paths.push(path.slice(0, -1));
    for (const parent of parents) climb([{id: parent.id, name: parent.name}, ...path]);
  };
  climb([{id: concept.id, name: concept.name}]);
  return {paths: paths.slice(0, MOST_PATHS).filter((path) => path.length), more: paths.length > MOST_PATHS};
}
