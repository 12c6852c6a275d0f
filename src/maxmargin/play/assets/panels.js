// The tabs, and the numbers of the optimum.

import { answers, change, onChange, state, versionNow } from "./store.js";
import { equation, short } from "./words.js";

const TABS = ["fit", "hand", "steps"];
const byId = (id) => document.getElementById(id);

export function setUpTabs() {
  const list = document.querySelector('[role="tablist"]');
  list.addEventListener("click", (event) => event.target.id && change("tab", { tab: event.target.id.slice(4) }));
  list.addEventListener("keydown", (event) => {
    const shift = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!shift) return;
    event.preventDefault();
    change("tab", { tab: TABS[(TABS.indexOf(state.tab) + shift + TABS.length) % TABS.length] });
    byId(`tab-${state.tab}`).focus();
  });
  onChange((what) => (what === "tab" || what === "problem" || what === "points") && showTab());
  showTab();
}

function showTab() {
  for (const tab of TABS) {
    const isShown = tab === state.tab;
    byId(`tab-${tab}`).setAttribute("aria-selected", String(isShown));
    byId(`tab-${tab}`).tabIndex = isShown ? 0 : -1;
    byId(`panel-${tab}`).hidden = !isShown;
  }
  for (const entry of byId("legend").children) {
    const { tab, hinge } = entry.dataset;
    const isAbsent = hinge !== undefined && state.loss === "logistic"; // it has no support vectors, no slacks
    entry.hidden = isAbsent || !tab.split(" ").includes(state.tab);
  }
}

export function showFit() {
  const fit = answers.fit;
  const isDetermined = Boolean(fit && fit.is_determined);
  byId("numbers").hidden = byId("equation").hidden = byId("proof").hidden = !isDetermined;
  byId("undetermined").hidden = isDetermined || !fit;
  byId("left-out-words").hidden = !isDetermined;
  if (!fit) return;
  if (!isDetermined) {
    byId("undetermined").textContent = fit.words;
    return;
  }
  const n = fit.agreements.length;
  byId("objective").textContent = short(fit.objective, 7);
  byId("bound").textContent = short(fit.bound, 7);
  byId("gap").textContent = fit.relative_gap;
  byId("margin").textContent = short(fit.margin);
  byId("errors").textContent = `${fit.training_errors} of ${n}`;
  byId("support").textContent = fit.support ? `${fit.support.length} of ${n}, ${fit.n_on_margin} on the margin` : "every point counts";
  byId("equation").textContent = equation(fit.theta, fit.theta0, ["x₁", "x₂"]);
  byId("proof").textContent = fit.warning || `Proved: ${fit.certificate}.`;
  byId("proof").classList.toggle("doubt", fit.warning !== "");
}

export function showLeftOut() {
  const found = answers.leftOut;
  const target = byId("left-out");
  const isOld = !found || found.about !== versionNow();
  target.classList.toggle("pending", isOld);
  if (!found || !answers.fit || !answers.fit.is_determined) return;
  const n = answers.fit.agreements.length;
  const open = found.undecided.length ? ` to ${found.n_errors + found.undecided.length}` : "";
  target.textContent = `${found.n_errors}${open} of ${n}`;
  byId("left-out-words").textContent = `Leave-one-out: ${found.words}.`;
}
