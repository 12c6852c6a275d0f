// The state of the page, and the functions that are called when it changes.

import { isInside, viewOf } from "./geometry.js";

export const state = {
  points: [],
  loss: "hinge",
  strength: "C",
  value: 1,
  offset: true,
  tab: "fit",
  hand: { theta: [1, 0], theta0: 0 },
  steps: { method: "perceptron", rule: "η = 1", count: 100, seed: 0, at: 0 },
  view: { left: -4, right: 4, bottom: -3, top: 3 },
  names: ["x₁", "x₂"],
  classes: ["−1", "+1"],
};

// What the program answered; `about` of each is the number of the state that it is about.
export const answers = { fit: null, leftOut: null, hand: null, walk: null };

let version = 0;
const listeners = [];
const past = [];

export const versionNow = () => version;

export function onChange(listener) {
  listeners.push(listener);
}

// `what` is "points", "problem", "hand", "steps", "tab" or "look".
export function change(what, entries) {
  Object.assign(state, entries);
  if (what === "points" || what === "problem") version += 1;
  for (const listener of listeners) listener(what);
}

// Points are replaced, never changed in place: the picture compares, and the past keeps the old ones.
export function changePoints(points, { keepPast = true, ...further } = {}) {
  if (keepPast) remember();
  change("points", { points, ...further });
}

export function remember() {
  const { points, names, classes } = state;
  if (past.at(-1)?.points !== points) past.push({ points, names, classes });
  if (past.length > 200) past.shift();
}

// A press that moved nothing left a past that is the present.
export function undo() {
  while (past.at(-1)?.points === state.points) past.pop();
  const before = past.pop();
  if (!before) return;
  const view = before.points.every((point) => isInside(point, state.view)) ? state.view : viewOf(before.points);
  change("points", { ...before, view });
}

export const canUndo = () => past.some(({ points }) => points !== state.points);

export function task() {
  const { points, loss, strength, value, offset } = state;
  return { points, loss, strength, value, offset };
}

// ---------------------------------------------------------------- files

export function saved(format, version) {
  const { points, loss, strength, value, offset, tab, hand, steps, view, names, classes } = state;
  return { format, version, points, loss, strength, value, offset, tab, hand, steps, view, names, classes };
}

export function restore(checked) {
  remember();
  const { format, version: written, ...entries } = checked;
  change("points", { view: viewOf(entries.points), ...entries });
  change("tab");
}
