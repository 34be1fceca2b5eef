// Who has which document of a project: what lists for curators are made of.

import {api} from './api.js';
import {go, state} from './base.js';

const PAGE = 1000;

async function pages(path, name) {
  const found = [];
  for (let after = 0; after !== null;) {
    const page = await api.get(`${path}${path.includes('?') ? '&' : '?'}after=${after}&limit=${PAGE}`);
    found.push(...page[name]);
    after = page.next;
  }
  return found;
}

/** Return all assignments of a project that I may see. */
export const allAssignments = (project) => pages(`/projects/${project}/assignments?mine=false`, 'assignments');

/** Return all documents of a project, without their texts. */
export const allDocuments = (project) => pages(`/projects/${project}/documents`, 'documents');

/** Return the name of a user; of nobody for what all members share. */
export function personOf(user) {
  if (user === null) return 'everybody together';
  return state.project?.members.find((one) => one.user === user)?.name ?? `a former member (user ${user})`;
}

/** Return what is known of each document that somebody has: its readers and its judges, in the order of the documents. */
export function byDocument(assignments) {
  const found = new Map();
  for (const one of assignments) {
    if (!found.has(one.document)) found.set(one.document, {document: one.document, ext_id: one.ext_id, readers: [], judges: []});
    found.get(one.document)[one.kind === 'adjudicate' ? 'judges' : 'readers'].push(one);
  }
  return [...found.values()].sort((a, b) => a.document - b.document);
}

/** Return in a word how far an assignment is. */
export function stageOf({state: at, seq}) {
  if (at === 'done') return 'done';
  if (at === 'reopened') return 'reopened';
  return seq ? 'begun' : 'not begun';
}

/** Go to the adjudication of a document; without one it is given to me. */
export async function judge(project, document) {
  const judges = byDocument(await allAssignments(project)).find((one) => one.document === document)?.judges ?? [];
  const there = judges.find((one) => one.user === state.me.user) ?? judges.find((one) => one.state === 'done');
  go(`#/p/${project}/adjudicate/${there?.assignment ?? await give(project, document)}`);
}

async function give(project, document) {
  const body = {documents: [document], users: [state.me.user], kind: 'adjudicate'};
  return (await api.post(`/projects/${project}/assignments`, body)).assignments[0];
}
