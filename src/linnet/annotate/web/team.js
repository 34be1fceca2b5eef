// Team and quality: who takes part, who has what, how far people agree, what was decided when.

import {entitle, html, leads, nothing, remembered, View} from './base.js';
import './team_agreement.js';
import './team_log.js';
import './team_members.js';
import './team_progress.js';
import './team_proposals.js';
import './team_work.js';

const ALWAYS = () => true;
const TABS = [  // name, title, who sees it, content
  ['members', 'Members', ALWAYS, (project) => html`<linnet-members .project=${project}></linnet-members>`],
  ['work', 'Assignments', leads, (project) => html`<linnet-work .project=${project}></linnet-work>`],
  ['progress', 'Progress', leads, (project) => html`<linnet-team-progress .project=${project}></linnet-team-progress>`],
  ['agreement', 'Agreement', leads, (project) => html`<linnet-agreement .project=${project}></linnet-agreement>`],
  ['proposals', 'New concepts', ALWAYS, (project) => html`<linnet-proposals .project=${project}></linnet-proposals>`],
  ['log', 'Event log', ALWAYS, (project) => html`<linnet-log .project=${project}></linnet-log>`],
];
const STEPS = {ArrowRight: 1, ArrowLeft: -1};

class Team extends View {
  static properties = {project: {type: Number}, tab: {state: true}};

  constructor() {
    super();
    this.tab = remembered.get('team.tab', 'members');
  }

  connectedCallback() {
    super.connectedCallback();
    entitle('Team', this.its.name);
  }

  get tabs() { return TABS.filter(([,, seen]) => seen()); }

  choose(name, {focus = false} = {}) {
    this.tab = name;
    remembered.set('team.tab', name);
    if (focus) this.updateComplete.then(() => this.querySelector(`#tab-${name}`).focus());
  }

  press(event) {
    const names = this.tabs.map(([name]) => name);
    const at = names.indexOf(this.current);
    const next = event.key === 'Home' ? 0 : event.key === 'End' ? names.length - 1 : at + (STEPS[event.key] ?? NaN);
    if (Number.isNaN(next)) return;
    event.preventDefault();
    this.choose(names[(next + names.length) % names.length], {focus: true});
  }

  get current() { return this.tabs.some(([name]) => name === this.tab) ? this.tab : 'members'; }

  render() {
    const now = this.tabs.find(([name]) => name === this.current);
    return html`<h1>Team and quality</h1>
      <div class="tabs" role="tablist" aria-label="Team and quality" @keydown=${this.press}>${this.tabs.map(([name, title]) => html`
        <button role="tab" id=${`tab-${name}`} aria-selected=${name === now[0]} aria-controls=${name === now[0] ? 'tab-panel' : nothing}
          tabindex=${name === now[0] ? 0 : -1} @click=${() => this.choose(name)}>${title}</button>`)}</div>
      <div id="tab-panel" class="tab-panel" role="tabpanel" tabindex="-1" data-panel aria-label=${now[1]}>${now[3](this.project)}</div>`;
  }
}

customElements.define('linnet-team', Team);
