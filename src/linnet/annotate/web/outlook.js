// Whether reading on still pays, in plain sentences with their numbers: errors left, signals, what readers missed, and how
// far probabilities can be believed. Functions of what `GET /projects/{p}/stopping` answers.

import {count, html, nothing, plural, share} from './base.js';
import {calibrationChart} from './charts.js';

const thousandths = (value) => value.toFixed(3).replace(/^0\./, '.');
const inHundred = (value) => count(Number((value * 100).toPrecision(2)));
const whole = (value) => (value > 0 && value < 1 ? 'fewer than 1' : count(Math.max(0, Math.round(value))));  // the estimate is unbiased and may fall below 0
const about = (value) => (value > 0 && value < 1 ? 'Fewer than one error' : `About ${plural(Math.max(0, Math.round(value)), 'error')}`);

/** Return how many errors are left in unread documents. */
export function errorsLeft({errors_left: found, unread}) {
  if (unread === 0) return 'No document is left: each is read, or somebody has it.';
  if (!found) {
    return `Errors left: not known yet. It takes documents that were drawn by chance when there were suggestions, and read;
      a fifth of each batch is drawn so.`;
  }
  const where = unread === null ? 'unread documents' : plural(unread, 'unread document');
  const base = `${plural(found.random, 'document')} drawn by chance and read`;
  if (found.low === null || found.high === null) {
    return html`<strong>${about(found.value)}</strong> may be left in ${where}, going by ${base}. At least 5 of these
      are needed to say how far that may be off.`;
  }
  return html`<strong>${about(found.value)}</strong> may be left in ${where}
    (95 %: ${whole(found.low)} to ${whole(found.high)}), going by ${base}.`;
}

const SENTENCES = {
  'errors left': ({value, limit, numbers}) => (value === null
    ? `Errors: the upper end is not known; ${plural(numbers.random, 'document')} drawn by chance say too little.`
    : `Errors: at most ${inHundred(Math.max(0, value))} for 100 mentions (limit ${inHundred(limit)}; ${count(numbers.mentions)} mentions in all).`),
  'stable predictions': ({value, limit, numbers}) => (value === null
    ? `Stable suggestions: it takes two models with suggestions for the same unread documents (limit κ ${share(limit)}).`
    : `Stable suggestions: in the last ${plural(numbers.rounds, 'step')} from model to model κ was ${share(value)} or more
      (limit ${share(limit)}, three steps running)${numbers.change < 1 ? `; F1 differs by ${share(numbers.change)} at most` : ''}.`),
  'expected gain': ({value, limit, numbers}) => (value === null
    ? `Gain: it takes four models made after different amounts of work; there are ${count(numbers.points ?? 0)}.`
    : `Gain: the next hour of work is expected to raise the score by ${thousandths(value)} (limit ${thousandths(limit)}),
      going by ${plural(numbers.points, 'model')}.`),
};

/** Return a list of the signals that people may have read enough. */
export function signals(found) {
  const word = (one) => (one.reached ? '✓ reached' : one.value === null ? 'not known' : 'not yet');
  return html`<ul class="signals">${found.map((one) => html`<li>
    <span class=${one.reached ? 'chip good' : 'chip'}>${word(one)}</span>
    <span>${SENTENCES[one.name]?.(one) ?? one.name}</span></li>`)}</ul>`;
}

/** Return how many mentions each two readers of the same documents both missed, at least. */
export function missed(pairs) {
  if (!pairs.length) return nothing;
  return html`<h3>Missed by two readers</h3><ul class="plain">${pairs.map(({annotators, documents, there, missed: both}) => html`<li>
    ${annotators.join(' and ')} both read ${plural(documents, 'document')}: of ${whole(there)} mentions, both missed at least
    ${whole(both)}.</li>`)}</ul>`;
}

/** Return whether probabilities can be believed, with a reliability diagram; nothing where there are no answers. */
export function reliability(found) {
  if (!found?.bins.length) return nothing;
  const bins = found.bins.map((one) => ({p: one.confidence, share: one.accuracy, count: one.count}));
  const mean = (key) => Math.round(bins.reduce((sum, one) => sum + one[key] * one.count, 0) / found.answers * 100);
  const said = mean('p'), right = mean('share');
  const verdict = Math.abs(said - right) < 3 ? 'about as sure as they should be' : said > right ? 'too sure' : 'better than they say';
  const about = `Suggestions, of whichever model was in use then, give ${said} % on average, and ${right} % of them are right: they are ${verdict}.`;
  return html`<section class="panel" data-panel tabindex="-1" aria-label="Can probabilities be believed?">
    <header><h2>Can probabilities be believed?</h2></header>
    <p>${about} The mean distance is ${share(found.ece)} (expected calibration error of ${plural(found.answers, 'answer')} in
      documents drawn by chance).</p>
    <linnet-chart .of=${calibrationChart} .data=${{title: 'Reliability of probabilities', about, bins, width: 420}}></linnet-chart>
  </section>`;
}
