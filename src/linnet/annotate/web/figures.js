// The figures of agreement in words: what each is called, and one sentence on how to read it.

const PLACES = {
  'span.exact.raw': ['Same place, exactly',
    'How often a place that one reader marks is marked by another with the same first and last character; 1 is always.'],
  'span.exact.trimmed': ['Same place, edges trimmed',
    'The same without blanks and punctuation at the edges: where it is higher, some readers took these along.'],
  'span.overlap.raw': ['Same place, in part',
    'Places that overlap count by how far: where it is much higher, readers find the same things and cut them differently.'],
  'span.overlap.trimmed': ['Same place, in part, edges trimmed', 'The same without blanks and punctuation at the edges.'],
  matched: ['Marked by two or more',
    'The share of all marked things that more than one reader has; the rest was missed or left out by all others.'],
};
const DISTANCES = {
  nominal: ['', 'a near miss counts like any other'],
  steps: [', by steps', 'parent and child count as a quarter apart, siblings as a half'],
  information: [', by information', 'concepts are the nearer, the more they have in common in the hierarchy'],
};
const LINKS = {
  link: ['Concepts (α)', 'Agreement on concepts beyond chance where readers marked the same thing: 1 is perfect, 0 is chance'],
  'end-to-end': ['Places and concepts (α)', 'The same with all that was marked: a mention that a reader lacks is a disagreement, too'],
};
const BY_TYPE = {
  fleiss: ['Words (Fleiss’ κ)', 'Whether readers see the same words as part of such mentions, beyond chance: 1 is perfect, 0 is chance.'],
  cohen: ['Words, two readers (Cohen’s κ)', 'The same for two readers.'],
  prevalence: ['Share of words',
    'How many words are seen as part of such mentions: where it is near 0 or 1, κ is low by itself.'],
};
const SECTIONS = ['Sections (α)', 'How far the marked sections coincide, counted by their lengths: 1 is perfect, 0 is chance'];

/** Return `{group, title, about, type}` of a figure by its name: `group` is places, links or words. */
export function figureNamed(name) {
  if (PLACES[name]) return {group: 'places', title: PLACES[name][0], about: PLACES[name][1], type: null};
  const [kind, ...rest] = name.split('.');
  const tail = rest.join('.');
  if (LINKS[kind] && DISTANCES[tail]) {
    return {group: 'links', title: LINKS[kind][0] + DISTANCES[tail][0], about: `${LINKS[kind][1]}; ${DISTANCES[tail][1]}.`, type: null};
  }
  if (BY_TYPE[kind]) return {group: 'words', title: BY_TYPE[kind][0], about: BY_TYPE[kind][1], type: tail};
  if (kind === 'unitising') {
    const level = Number(rest.at(-1));
    const [nested, inside] = level ? [`, nested ${level} deep`, '; these lie in others of the type'] : ['', ''];
    return {group: 'words', title: SECTIONS[0] + nested, about: `${SECTIONS[1]}${inside}.`, type: rest.slice(0, -1).join('.')};
  }
  return {group: 'words', title: name, about: '', type: null};
}

const LOW = 0.667, GAP = 0.1;  // Krippendorff's least α for tentative conclusions; a gap that is worth a word

/** Return what the gap between α nominal and those with the knowledge base says, in sentences; '' where there is none. */
export function gapIn(figures) {
  const nominal = figures['link.nominal']?.value, near = figures['link.steps']?.value;
  if (nominal == null || near == null) return '';
  if (near - nominal >= GAP) {
    return `With the knowledge base α is ${(near - nominal).toFixed(2)} higher: readers often choose concepts that are close,
      such as parent and child. The guidelines should say how specific to be.`;
  }
  if (nominal < LOW) {
    return `Without and with the knowledge base α is low: readers choose concepts that have little to do with each other.
      Look at the confusions together.`;
  }
  return 'With the knowledge base α is hardly higher: where readers differ, it is not mainly between concepts that are close.';
}
