// What readers of a document say differently, and the commands that settle it. Functions of their data; nothing is kept.
//
// A conflict is a place that not all readers mark alike: it has what each of them says there, null for nothing. What
// was decided about it is found again by its addresses, those of the readers' mentions, so that nothing else is stored.

const LAYER = /^(p[0-9a-f]{16}|g\d+)$/;  // addresses that a new mention cannot have

/** What differs, in words. */
export const DIFFERENCES = {
  missing: 'not marked by all', parts: 'other edges', concepts: 'other concept', nil: 'other reason for no concept', types: 'other type',
  unsure: 'unsure', late: 'all agree since you began',
};

/** Return `{live, out}` of an answer of GET /assignments/{a}: mentions that stand, and those that were ruled out. */
export function saidIn({gold, decided}) {
  const held = new Set(decided.map((one) => one.id));
  return {
    live: [...gold.filter((one) => !held.has(one.id)), ...decided.filter((one) => one.state === 'live')],
    out: decided.filter((one) => one.state !== 'live'),
  };
}

const sorted = (values) => [...new Set(values)].sort();

/** Return the concepts of a mention with its alternatives as a text that is the same for the same meaning. */
export function meaningOf(mark) {
  if (mark.concepts === null) return 'not linked';
  return JSON.stringify(sorted([mark.concepts, ...mark.alternatives].map((one) => JSON.stringify(sorted(one)))));
}

const DETAILS = {
  parts: (mark) => JSON.stringify(mark.parts), concepts: meaningOf, nil: (mark) => mark.nil,
  types: (mark) => JSON.stringify(sorted(mark.types)), unsure: (mark) => String(mark.unsure),
};
const textOf = (mark) => (mark ? Object.values(DETAILS).map((of) => of(mark)).join('|') : '');

// --- who speaks of the same -------------------------------------------------------------------------------------------

const size = (parts) => parts.reduce((sum, [start, end]) => sum + end - start, 0);

/** Return 2·|a∩b|/(|a|+|b|) of two mentions: 1 for the same place, 0 for places apart. */
function nearness(one, other) {
  let common = 0;
  for (const [a, b] of one.parts) for (const [c, d] of other.parts) common += Math.max(0, Math.min(b, d) - Math.max(a, c));
  return 2 * common / (size(one.parts) + size(other.parts));
}

/** Return pairs of overlapping mentions of two readers, the closest first. */
function pairsOf(items) {
  const found = [];
  items.forEach((one, at) => {
    const end = one.mark.parts.at(-1)[1];
    for (let next = at + 1; next < items.length && items[next].mark.parts[0][0] < end; next += 1) {
      const other = items[next];
      const near = other.reader === one.reader ? 0 : nearness(one.mark, other.mark);
      const same = (of) => Number(of(one.mark) === of(other.mark));
      if (near) found.push({one, other, near, alike: 2 * same(meaningOf) + same(DETAILS.types)});
    }
  });
  return found.sort((a, b) => b.near - a.near || b.alike - a.alike);
}

/** Return groups of mentions about the same, at most one of each reader, in the order of the text. */
function groupsOf(readers) {
  const items = readers.flatMap(({live}, reader) => live.map((mark) => ({mark, reader})))
    .sort((a, b) => a.mark.parts[0][0] - b.mark.parts[0][0] || a.mark.parts.at(-1)[1] - b.mark.parts.at(-1)[1]);
  const group = new Map(items.map((one) => [one, [one]]));
  for (const {one, other} of pairsOf(items)) {
    const ours = group.get(one), theirs = group.get(other);
    const fits = ours.every((a) => theirs.every((b) => a.reader !== b.reader && nearness(a.mark, b.mark)));
    if (!fits) continue;
    ours.push(...theirs);
    for (const member of theirs) group.set(member, ours);
  }
  return [...new Set(group.values())];
}

// --- conflicts --------------------------------------------------------------------------------------------------------

function conflictOf(members, readers, claimed) {
  const marks = readers.map((_, reader) => members.find((one) => one.reader === reader)?.mark ?? null);
  const there = marks.filter(Boolean);
  const ids = sorted(there.map((one) => one.id)).map((id) => (claimed.has(id) ? `m:again:${id}` : id));
  for (const id of ids) claimed.add(id);
  const isOut = (one) => ids.includes(one.id) || there.some((mark) => textOf({...one, unsure: mark.unsure}) === textOf(mark));
  return {
    id: ids[0], ids, marks,
    out: readers.map(({out}, reader) => !marks[reader] && out.some(isOut)),
    differences: [...(there.length < marks.length ? ['missing'] : []), ...differencesOf(there)],
    start: Math.min(...there.map((one) => one.parts[0][0])), end: Math.max(...there.map((one) => one.parts.at(-1)[1])),
  };
}

function differencesOf(marks) {
  const differs = (name) => new Set(marks.map(DETAILS[name])).size > 1 || (name === 'unsure' && marks.some((one) => one.unsure));
  const found = Object.keys(DETAILS).filter(differs);
  const follows = found.includes('concepts') ? ['nil', 'types'] : [];  // which differ because concepts do
  return found.filter((name) => !follows.includes(name));
}

/**
 * Compare what readers say, each as `saidIn` returns it. Returns `{conflicts, alike, out}`: places where they differ or
 * somebody is unsure (these first), mentions that all have alike, and how many all ruled out.
 */
export function compare(readers) {
  const claimed = new Set();
  const found = groupsOf(readers).map((members) => conflictOf(members, readers, claimed));
  const [first, ...others] = readers.map(({out}) => new Set(out.map(textOf)));
  const unsure = (one) => Number(one.differences.includes('unsure'));
  return {
    conflicts: found.filter((one) => one.differences.length).sort((a, b) => unsure(b) - unsure(a) || a.start - b.start),
    alike: found.filter((one) => !one.differences.length),
    out: [...first].filter((text) => others.every((other) => other.has(text))).length,
  };
}

/** Return the different things that are said in a conflict, `{mark, readers}`, in the order of the readers. */
export function answersIn(conflict) {
  const found = new Map();
  conflict.marks.forEach((mark, reader) => {
    const text = textOf(mark);
    if (found.has(text)) found.get(text).readers.push(reader); else found.set(text, {mark, readers: [reader]});
  });
  return [...found.values()];
}

// --- what settles them ------------------------------------------------------------------------------------------------

const addresses = (id) => [id, `m:${id}`, `m:m:${id}`];
const aliases = ({ids}) => ids.flatMap(addresses);

/** Return what was decided about a conflict, `{marks}`: none is "no mention"; null = nothing yet. `decided` is a Map by address. */
export function settled(conflict, decided) {
  const held = aliases(conflict).filter((id) => decided.has(id)).map((id) => decided.get(id));
  return held.length ? {marks: held.filter((one) => one.state === 'live')} : null;
}

/** Return whether all that readers say alike stands in a result, or was decided otherwise there. */
export const isMerged = (one, {decided, gold}) => aliases(one).some((id) => decided.has(id) || gold.has(id));

/** Return what "both" means of different mentions: one with all concepts where they are at the same place, else each of them. */
export function both(marks) {
  const same = new Set(marks.map((one) => DETAILS.parts(one))).size === 1;
  if (!same) return marks;
  const all = (of) => [...new Set(marks.flatMap(of))];
  return [{...marks[0], concepts: all((one) => one.concepts || []), alternatives: [], nil: '', types: all((one) => one.types)}];
}

/**
 * Return the commands `[op, fields]` after which `wanted` (mentions; none = no mention) is what stands of a conflict.
 * `layers` are Maps by address: what is `decided` in the adjudication, `gold` and `pred`.
 */
export function commandsFor(conflict, wanted, layers) {
  const known = new Map();
  for (const id of aliases(conflict)) {
    const mark = layers.decided.get(id) || layers.gold.get(id) || layers.pred.get(id);
    if (mark) known.set(id, mark);
  }
  const taken = new Set(known.keys());
  const made = wanted.flatMap((mark) => put(mark, known, taken, conflict));
  const left = [...known].filter(([id, mark]) => !layers.decided.has(id) || mark.state === 'live');
  made.push(...left.map(([id]) => ['reject', {mention: id}]));
  return wanted.length || taken.size ? made : trace(conflict);
}

/** Return what puts a mention at an address of the conflict; that address is taken out of `known`. */
function put(mark, known, taken, conflict) {
  const place = DETAILS.parts(mark);
  const fits = ([, there]) => mark.concepts !== null || there.concepts === null;  // what is linked stays linked
  const own = [...known].filter(fits);
  const found = own.find(([id]) => addresses(mark.id).includes(id)) ?? own.find(([, there]) => DETAILS.parts(there) === place);
  if (!found) return [create(mark, taken, conflict)];
  known.delete(found[0]);
  return edit(...found, mark);
}

function create(mark, taken, conflict) {
  const base = aliases(conflict).includes(mark.id) ? mark.id : `m:again:${mark.id}`;
  const id = addresses(base).find((one) => !LAYER.test(one) && !taken.has(one));
  taken.add(id);
  const {parts, types, concepts, alternatives, nil} = mark;
  const linked = concepts === null ? {} : {concepts, alternatives, nil};
  return ['create', {mention: id, parts, ...linked, ...(types ? {types} : {})}];
}

function edit(id, there, mark) {
  const made = [];
  const differs = (name) => DETAILS[name](mark) !== DETAILS[name](there);
  const types = mark.types && differs('types') ? {types: mark.types} : {};
  if (differs('parts')) made.push(['move', {mention: id, parts: mark.parts}]);
  if (mark.concepts !== null && (differs('concepts') || differs('nil') || types.types)) {
    const {concepts, alternatives, nil} = mark;
    return [...made, ['link', {mention: id, concepts, alternatives, nil, ...types}]];
  }
  if (types.types) made.push(['type', {mention: id, ...types}]);
  if (!made.length || there.unsure) made.push(['accept', {mention: id}]);
  return made;
}

/** Return commands that leave a trace of "no mention" where the adjudication has nothing that could be ruled out. */
function trace(conflict) {
  const [op, fields] = create(conflict.marks.find(Boolean), new Set(), conflict);
  return [[op, fields], ['delete', {mention: fields.mention}]];
}
