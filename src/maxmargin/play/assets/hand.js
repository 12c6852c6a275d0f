// θ and θ₀ by hand, beside the optimum.

import { answers, change, onChange, state } from "./store.js";
import { short } from "./words.js";

const byId = (id) => document.getElementById(id);
const FIELDS = { "hand-1": 0, "hand-2": 1 };
const NAMES = { "hand-1": "θ₁", "hand-2": "θ₂", "hand-0": "θ₀" };
const IDS = Object.keys(NAMES);
const LARGEST = 1e12;
let complaint = "";

export function setUpHand() {
  for (const id of IDS) {
    byId(id).addEventListener("input", read);
    byId(id).addEventListener("blur", forget); // a field that held no number gets its own back
  }
  byId("hand-copy").addEventListener("click", () => {
    const fit = answers.fit;
    if (fit && fit.is_determined) put(fit.theta, fit.theta0);
  });
  byId("hand-scale").addEventListener("click", scale);
  onChange((what) => (what === "tab" || what === "points" || what === "problem") && fill());
  fill();
}

function read() {
  const numbers = IDS.map((id) => byId(id).valueAsNumber);
  const wrong = IDS.filter((_, k) => !(Math.abs(numbers[k]) <= LARGEST));
  complain(wrong);
  if (wrong.length === 0) change("hand", { hand: { theta: numbers.slice(0, 2), theta0: numbers[2] } });
}

function complain(wrong) {
  for (const id of IDS) byId(id).setAttribute("aria-invalid", String(wrong.includes(id)));
  const { theta, theta0 } = state.hand;
  const shown = `θ = (${theta.map((value) => short(value)).join(", ")}), θ₀ = ${short(theta0)}`;
  const asked = "a number, up to 10¹² in size";
  complaint = wrong.length ? `${wrong.map((id) => NAMES[id]).join(" and ")} must be ${asked}; the picture shows ${shown}.` : "";
  showWords();
}

function forget() {
  if (!complaint) return;
  complain([]);
  fill();
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
  showWords();
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

function showWords() {
  const { hand } = answers;
  const answer = hand ? (hand.is_determined ? `Yours is ${hand.words}.` : hand.words) : "";
  byId("hand-words").textContent = complaint || answer;
  byId("hand-words").classList.toggle("doubt", complaint !== "");
}
