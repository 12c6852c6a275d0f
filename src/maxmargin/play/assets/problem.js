// Loss, C or λ, offset: what is minimised.

import { change, onChange, state } from "./store.js";
import { short } from "./words.js";

// Powers of ten that the slider covers.
const RANGES = { C: [-3, 4], lam: [-5, 1] };
const NAMES = { C: "C", lam: "λ" };

const byId = (id) => document.getElementById(id);

export function setUpProblem(fail) {
  const [slider, value] = [byId("slider"), byId("value")];
  byId("loss").addEventListener("change", (event) => change("problem", { loss: event.target.value }));
  byId("offset").addEventListener("change", (event) => change("problem", { offset: event.target.checked }));
  byId("strength").addEventListener("change", (event) => switchTo(event.target.value));
  slider.addEventListener("input", () => change("problem", { value: rounded(10 ** Number(slider.value)) }));
  value.addEventListener("change", () => {
    const given = Number(value.value);
    if (given >= 1e-9 && given <= 1e9) {
      change("problem", { value: given });
      return;
    }
    value.value = typed();
    fail(new Error(`${NAMES[state.strength]} must be a number between 10⁻⁹ and 10⁹; it stays ${short(state.value)}.`));
  });
  onChange((what) => {
    if (what === "problem" || what === "points") show();
  });
  show();
}

const typed = () => Number(state.value.toPrecision(4));

const rounded = (value) => Number(value.toPrecision(3));

// The same problem, named by the other letter: C = 1/(λ n).
function switchTo(strength) {
  const n = Math.max(state.points.length, 1);
  const other = Math.min(Math.max(1 / (state.value * n), 1e-9), 1e9);
  change("problem", { strength, value: other });
}

function show() {
  const name = NAMES[state.strength];
  const [low, high] = RANGES[state.strength];
  const slider = byId("slider");
  slider.min = low;
  slider.max = high;
  slider.value = Math.log10(state.value);
  slider.setAttribute("aria-label", `${name}, on a logarithmic scale`);
  slider.setAttribute("aria-valuetext", `${name} = ${short(state.value)}`);
  const value = byId("value");
  if (document.activeElement !== value) value.value = typed();
  value.setAttribute("aria-label", name);
  byId("offset").checked = state.offset;
  document.querySelector(`input[name="loss"][value="${state.loss}"]`).checked = true;
  document.querySelector(`input[name="strength"][value="${state.strength}"]`).checked = true;
  byId("formula").textContent = formula();
  byId("other-letter").textContent = otherLetter();
}

function formula() {
  const score = state.offset ? "y(θ·x + θ₀)" : "y(θ·x)";
  const loss = {
    hinge: `max(0, 1 − ${score})`,
    squared_hinge: `max(0, 1 − ${score})²`,
    logistic: `ln(1 + exp(−${score}))`,
  }[state.loss];
  return `minimise ½‖θ‖² + C Σ ${loss}`;
}

function otherLetter() {
  const n = state.points.length;
  const other = n ? short(1 / (state.value * n)) : "–";
  return state.strength === "C" ? `λ = 1/(C n) = ${other}` : `C = 1/(λ n) = ${other}`;
}
