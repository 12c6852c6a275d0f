// θ and θ₀ by hand, beside the optimum.

import { answers, change, onChange, state } from "./store.js";
import { short } from "./words.js";

const byId = (id) => document.getElementById(id);
const FIELDS = { "hand-1": 0, "hand-2": 1 };

export function setUpHand() {
  for (const id of ["hand-1", "hand-2", "hand-0"]) byId(id).addEventListener("input", read);
  byId("hand-copy").addEventListener("click", () => {
    const fit = answers.fit;
    if (fit && fit.is_determined) put(fit.theta, fit.theta0);
  });
  byId("hand-scale").addEventListener("click", scale);
  onChange((what) => (what === "tab" || what === "points" || what === "problem") && fill());
  fill();
}

function read() {
  const numbers = ["hand-1", "hand-2", "hand-0"].map((id) => byId(id).valueAsNumber);
  if (!numbers.every((value) => Number.isFinite(value) && Math.abs(value) <= 1e12)) return;
  change("hand", { hand: { theta: numbers.slice(0, 2), theta0: numbers[2] } });
}

function put(theta, theta0) {
  const tidy = (value) => Number(value.toPrecision(4));
  change("hand", { hand: { theta: theta.map(tidy), theta0: tidy(theta0) } });
  fill();
}

// The same line, scaled so that the smallest agreement is 1: then 1/‖θ‖ is the distance of the nearest point.
function scale() {
  const hand = answers.hand;
  if (!hand || !hand.is_determined) return;
  const smallest = Math.min(...hand.agreements);
  if (smallest <= 0) {
    byId("hand-words").textContent = "This line does not separate the classes: no scale gives every point an agreement of 1.";
    return;
  }
  put(hand.theta.map((value) => value / smallest), hand.theta0 / smallest);
}

function fill() {
  const { theta, theta0 } = state.hand;
  for (const [id, k] of Object.entries(FIELDS)) if (document.activeElement !== byId(id)) byId(id).value = theta[k];
  byId("hand-0").disabled = !state.offset;
  if (document.activeElement !== byId("hand-0")) byId("hand-0").value = state.offset ? theta0 : 0;
}

export function showHand() {
  const { hand, fit } = answers;
  const isKnown = Boolean(hand && hand.is_determined && fit && fit.is_determined);
  byId("hand-words").textContent = hand ? (hand.is_determined ? `Yours is ${hand.words}.` : hand.words) : "";
  document.querySelector(".comparison").hidden = !isKnown;
  if (!isKnown) return;
  const norm = Math.hypot(...fit.theta);
  const rows = {
    "hand-objective": short(hand.objective, 7),
    "best-objective": short(fit.objective, 7),
    "best-bound": short(fit.bound, 7),
    "hand-margin": short(hand.margin),
    "best-margin": short(fit.margin),
    "hand-nearest": short(hand.smallest_distance),
    "best-nearest": norm > 0 ? short(Math.min(...fit.agreements) / norm) : "–",
    "hand-errors": String(hand.training_errors),
    "best-errors": String(fit.training_errors),
  };
  for (const [id, text] of Object.entries(rows)) byId(id).textContent = text;
}
