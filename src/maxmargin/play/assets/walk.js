// A learner step by step: forwards, backwards, and what each step did.

import { answers, change, onChange, state } from "./store.js";
import { element, pathThrough, px, set } from "./svg.js";
import { short } from "./words.js";

const byId = (id) => document.getElementById(id);
let methods = [];
let running = null;

export function setUpWalk(menu, fail) {
  methods = menu.methods;
  for (const { name, title } of methods) byId("method").append(new Option(title, name));
  byId("count").max = menu.most_steps;
  byId("method").addEventListener("change", () => choose({ method: byId("method").value, rule: methodNamed(byId("method").value).rules[0], at: 0 }));
  byId("rule").addEventListener("change", () => choose({ rule: byId("rule").value }));
  byId("count").addEventListener("change", () => {
    const count = Math.round(byId("count").valueAsNumber);
    if (count >= 1 && count <= menu.most_steps) choose({ count, at: Math.min(state.steps.at, count) });
    else {
      fill();
      fail(new Error(`Steps must be a whole number between 1 and ${menu.most_steps}; it stays ${state.steps.count}.`));
    }
  });
  byId("draw-again").addEventListener("click", () => choose({ seed: (state.steps.seed + 1) % 1000, at: 0 }));
  byId("step-first").addEventListener("click", () => go(0));
  byId("step-back").addEventListener("click", () => go(state.steps.at - 1));
  byId("step-on").addEventListener("click", () => go(state.steps.at + 1));
  byId("step-last").addEventListener("click", () => go(last()));
  byId("scrub").addEventListener("input", () => go(byId("scrub").valueAsNumber));
  byId("step-run").addEventListener("click", () => (running ? rest() : run()));
  byId("course").addEventListener("click", (event) => {
    const box = byId("course").getBoundingClientRect();
    go(Math.round(((event.clientX - box.left - EDGE) / (box.width - 2 * EDGE)) * last()));
  });
  onChange((what) => {
    if (what === "tab" || what === "points") fill();
    if (what === "tab") rest();
  });
  fill();
  showWalk();
}

export const methodNamed = (name) => methods.find((method) => method.name === name) ?? methods[0];

const isKnown = () => Boolean(answers.walk && answers.walk.is_determined);

const last = () => (isKnown() ? answers.walk.words.length - 1 : 0);

function choose(entries) {
  rest();
  change("steps", { steps: { ...state.steps, ...entries } });
  fill();
}

function go(at) {
  const steps = { ...state.steps, at: Math.min(Math.max(at, 0), last()) };
  change("look", { steps });
  showWalk();
}

function run() {
  if (state.steps.at >= last()) go(0);
  running = setInterval(() => (state.steps.at < last() ? go(state.steps.at + 1) : rest()), 350);
  showRunning();
}

function rest() {
  clearInterval(running);
  running = null;
  showRunning();
}

function showRunning() {
  byId("step-run").setAttribute("aria-pressed", String(running !== null));
  byId("step-run").textContent = running ? "Pause" : "Run";
}

function fill() {
  const method = methodNamed(state.steps.method);
  byId("method").value = method.name;
  byId("rule").replaceChildren(...method.rules.map((rule) => new Option(rule, rule)));
  byId("rule").value = state.steps.rule;
  byId("count").value = state.steps.count;
  byId("about").textContent = method.about;
  byId("draw-again").hidden = !method.draws;
}

// Not `disabled`: that would take the focus from the button, and from whoever steps by keyboard.
const allow = (id, isAllowed) => byId(id).setAttribute("aria-disabled", String(!isAllowed));

// The classifier of the step that is shown, and of the one before.
export function walkScene() {
  const walk = answers.walk;
  if (!isKnown()) return {};
  const at = Math.min(state.steps.at, last());
  const model = (t) => ({ theta: walk.theta[t], theta0: walk.theta0[t] });
  const index = walk.example[at];
  return {
    shown: model(at),
    before: at > 0 && walk.updated[at] ? model(at - 1) : null,
    visited: index === null ? null : { index, moved: walk.updated[at] },
  };
}

export function showWalk() {
  const walk = answers.walk;
  for (const id of ["step-run", "scrub"]) byId(id).disabled = last() === 0;
  for (const id of ["step-first", "step-back"]) allow(id, isKnown() && state.steps.at > 0);
  for (const id of ["step-on", "step-last"]) allow(id, state.steps.at < last());
  byId("step-numbers").hidden = byId("course").toggleAttribute("hidden", !isKnown());
  if (!walk) return;
  if (!isKnown()) {
    rest();
    byId("explain").textContent = walk.words;
    byId("step-at").textContent = byId("reason").textContent = "";
    return;
  }
  const at = Math.min(state.steps.at, last());
  const scrub = byId("scrub");
  scrub.max = last();
  scrub.value = at;
  scrub.setAttribute("aria-valuetext", `step ${at} of ${last()}`);
  byId("step-at").textContent = `${at} / ${last()}`;
  byId("explain").textContent = walk.words[at];
  byId("explain").classList.toggle("moved", walk.updated[at]);
  const [first, second] = walk.theta[at];
  byId("step-theta").textContent = `(${short(first)}, ${short(second)}), ${short(walk.theta0[at])}`;
  byId("measure").hidden = walk.measure === "training errors"; // it has a line of its own
  byId("measure-name").textContent = walk.measure;
  byId("measured").textContent = short(walk.measured[at], 5);
  byId("step-errors").textContent = `${walk.training_errors[at]} of ${state.points.length}`;
  byId("reason").textContent = `${walk.title}: ${walk.reason}.`;
  paintCourse(walk, at);
}

const EDGE = 6;

// What the learner makes small, over its steps; a click goes there.
function paintCourse(walk, at) {
  const svg = byId("course");
  const { width, height } = svg.getBoundingClientRect();
  if (width === 0) return;
  set(svg, { viewBox: `0 0 ${px(width)} ${px(height)}`, "aria-label": `${walk.measure} after each step, now ${short(walk.measured[at])}` });
  const top = Math.max(...walk.measured, 1e-12);
  const place = (t) => [
    EDGE + (t / Math.max(last(), 1)) * (width - 2 * EDGE),
    height - EDGE - (walk.measured[t] / top) * (height - 2 * EDGE),
  ];
  svg.replaceChildren();
  element("path", { class: "rule", d: `M${EDGE} ${height - EDGE}H${px(width - EDGE)}` }, svg);
  element("path", { class: "curve", d: pathThrough(walk.measured.map((_, t) => place(t))) }, svg);
  element("text", { x: px(width - EDGE), y: 14, "text-anchor": "end" }, svg).textContent = walk.measure;
  const [x, y] = place(at);
  element("circle", { class: "now", cx: px(x), cy: px(y), r: 5 }, svg);
}
