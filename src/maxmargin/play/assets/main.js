// Everything together: a change asks the program, an answer changes the picture.

import { ask, Newest } from "./ask.js";
import { Editor } from "./edit.js";
import { setUpFiles } from "./files.js";
import { viewOf } from "./geometry.js";
import { setUpHand, showHand } from "./hand.js";
import { setUpTabs, showFit, showLeftOut } from "./panels.js";
import { Picture } from "./picture.js";
import { setUpProblem } from "./problem.js";
import { answers, canUndo, change, changePoints, onChange, state, task, undo, versionNow } from "./store.js";
import { setUpTable } from "./table.js";
import { setUpWalk, showWalk, walkScene } from "./walk.js";

const byId = (id) => document.getElementById(id);
const picture = new Picture(byId("plane"));
let editor;

function tell(words) {
  byId("told").textContent = words;
}

function fail(error) {
  const place = byId("trouble");
  place.hidden = false;
  place.textContent = error.message;
}

function allIsWell() {
  byId("trouble").hidden = true;
}

// ---------------------------------------------------------------- questions

const fits = new Newest("fit", receiveFit, fail);
const leftOuts = new Newest("leave-one-out", (answer, about) => {
  answers.leftOut = { ...answer, about };
  paint();
  showLeftOut();
  announce("left-out", about);
}, fail);
const hands = new Newest("compare", (answer, about) => {
  allIsWell();
  answers.hand = { ...answer, about };
  paint();
  showHand();
}, fail);
const walks = new Newest("steps", (answer, about) => {
  allIsWell();
  answers.walk = { ...answer, about };
  paint();
  showWalk();
}, (error) => {
  answers.walk = null;
  fail(error);
});

function receiveFit(answer, about) {
  allIsWell();
  answers.fit = { ...answer, about };
  paint();
  showFit();
  showLeftOut();
  if (state.tab === "hand") showHand();
  announce("fit", about);
  if (!fits.isWaiting) leftOuts.ask(task(), about);
}

// For whoever measures how long it takes from a change to its picture.
function announce(what, about) {
  document.dispatchEvent(new CustomEvent("drawn", { detail: { what, about } }));
}

function askAll(what) {
  const isNew = what === "points" || what === "problem";
  if (isNew) fits.ask(task(), versionNow());
  if (state.tab === "hand" && (isNew || what === "hand" || what === "tab")) hands.ask({ ...task(), hand: state.hand }, versionNow());
  if (state.tab === "steps" && (isNew || what === "steps" || what === "tab")) {
    const { method, rule, count, seed } = state.steps;
    walks.ask({ ...task(), steps: { method, rule, count, seed } }, versionNow());
  }
}

// ---------------------------------------------------------------- the picture

function scene() {
  const { points, view, names } = state;
  const fit = answers.fit && answers.fit.is_determined ? answers.fit : null;
  const isCurrent = fit && fit.agreements.length === points.length;
  const base = {
    points,
    view,
    names,
    enlarged: document.documentElement.classList.contains("large") ? 1.4 : 1,
    held: editor ? editor.held : null,
    cursor: editor ? editor.cursor : null,
    hasBands: true,
  };
  if (state.tab === "hand") {
    const hand = state.offset ? state.hand : { ...state.hand, theta0: 0 };
    return { ...base, reference: fit, shown: { ...hand, agreements: agreements(hand) }, hasSlacks: state.loss !== "logistic" };
  }
  if (state.tab === "steps") {
    return { ...base, reference: fit, hasBands: !["perceptron", "logistic_sgd"].includes(state.steps.method), ...walkScene() };
  }
  return {
    ...base,
    shown: fit,
    hasSlacks: state.loss !== "logistic",
    support: isCurrent ? fit.support : null,
    leftOut: isCurrent && answers.leftOut ? answers.leftOut.errors : null,
  };
}

function agreements({ theta, theta0 }) {
  return state.points.map(([x, y, sign]) => sign * (theta[0] * x + theta[1] * y + theta0));
}

function paint() {
  picture.paint(scene());
  byId("undo").setAttribute("aria-disabled", String(!canUndo()));
  byId("class-negative").textContent = state.classes[0];
  byId("class-positive").textContent = state.classes[1];
}

// ---------------------------------------------------------------- the rest of the page

function setUpTools() {
  byId("undo").addEventListener("click", undo);
  byId("clear").addEventListener("click", () => changePoints([]));
  byId("whole").addEventListener("click", () => change("look", { view: viewOf(state.points) }));
  byId("large").addEventListener("click", () => {
    const isLarge = document.documentElement.classList.toggle("large");
    byId("large").setAttribute("aria-pressed", String(isLarge));
    paint();
    if (state.tab === "steps") showWalk();
  });
  byId("example").addEventListener("change", () => byId("example").value && choose(byId("example").value));
  new ResizeObserver(paint).observe(picture.svg);
}

async function choose(name, keepPast = true) {
  try {
    const { points, names, classes } = await ask("example", { name });
    const steps = { ...state.steps, at: 0 };
    changePoints(points, { keepPast, names, classes, steps, view: viewOf(points) });
    byId("example").value = name;
  } catch (error) {
    fail(error);
  }
}

async function start() {
  const menu = await ask("menu");
  editor = new Editor(picture, tell, menu.most_points);
  for (const { name, title } of menu.examples) byId("example").append(new Option(title, name));
  onChange((what) => {
    askAll(what);
    if (what === "points") byId("example").value = ""; // so that the same data can be chosen again
    // A change of the problem shows when its answer comes; a frame before that would only delay it.
    if (what !== "problem") paint();
  });
  setUpTools();
  setUpProblem(fail);
  setUpTabs();
  setUpHand();
  setUpWalk(menu, fail);
  setUpTable(editor);
  setUpFiles(menu, tell, fail);
  await choose(menu.examples[0].name, false);
}

start().catch(fail);
