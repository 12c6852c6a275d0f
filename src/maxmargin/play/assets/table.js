// The points as a table, a page at a time: for whoever does not point at things, or wants exact numbers.

import { changePoints, onChange, state } from "./store.js";

const PAGE = 20;
const LARGEST = 1e6;
const byId = (id) => document.getElementById(id);
let first = 0;

export function setUpTable(editor) {
  byId("points").addEventListener("toggle", show);
  byId("rows-before").addEventListener("click", () => turn(-PAGE));
  byId("rows-after").addEventListener("click", () => turn(PAGE));
  byId("row-add").addEventListener("click", () => {
    const [x, y] = editor.picture.frame.centre.map((value) => Number(value.toPrecision(3)));
    editor.add([x, y], editor.tool || 1);
    first = Math.floor((state.points.length - 1) / PAGE) * PAGE;
    show();
    byId("rows").lastElementChild.querySelector("select").focus();
  });
  byId("rows").addEventListener("input", (event) => read(event.target));
  byId("rows").addEventListener("focusout", show); // a field that held no number gets its own back
  byId("rows").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    editor.remove(Number(button.dataset.row));
    byId("row-add").focus();
  });
  onChange((what) => what === "points" && show());
  show();
}

function turn(by) {
  first += by;
  show();
}

function read(field) {
  const k = Number(field.dataset.row);
  const column = Number(field.dataset.column);
  const value = column === 2 ? Number(field.value) : field.valueAsNumber;
  if (!Number.isFinite(value) || Math.abs(value) > LARGEST || value === state.points[k][column]) return;
  const points = state.points.slice();
  points[k] = points[k].map((old, j) => (j === column ? value : old));
  changePoints(points);
}

function show() {
  const n = state.points.length;
  first = Math.max(0, Math.min(first, Math.floor((n - 1) / PAGE) * PAGE));
  byId("points-caption").textContent = n ? `Examples ${first} to ${Math.min(first + PAGE, n) - 1} of ${n}, counted from 0` : "No points yet";
  byId("rows-before").disabled = first === 0;
  byId("rows-after").disabled = first + PAGE >= n;
  byId("name-1").textContent = state.names[0];
  byId("name-2").textContent = state.names[1];
  if (!byId("points").open) return;
  const rows = byId("rows");
  const shown = state.points.slice(first, first + PAGE);
  // A row that is being edited keeps its fields, and with them the focus.
  while (rows.childElementCount > shown.length) rows.lastElementChild.remove();
  while (rows.childElementCount < shown.length) rows.append(emptyRow());
  shown.forEach((point, j) => fill(rows.children[j], first + j, point));
}

function emptyRow() {
  const row = document.createElement("tr");
  const cell = (child) => {
    const made = document.createElement("td");
    made.append(child);
    row.append(made);
    return child;
  };
  const heading = document.createElement("th");
  heading.scope = "row";
  row.append(heading);
  cell(document.createElement("select")).append(new Option("", "-1"), new Option("", "1"));
  for (let j = 0; j < 2; j += 1) {
    const field = cell(document.createElement("input"));
    field.type = "number";
    field.step = "any";
  }
  const button = cell(document.createElement("button"));
  button.type = "button";
  button.textContent = "✕";
  return row;
}

function fill(row, k, point) {
  row.firstElementChild.textContent = String(k);
  const [side, ...fields] = row.querySelectorAll("select, input");
  [...side.options].forEach((option, j) => (option.textContent = state.classes[j]));
  side.setAttribute("aria-label", `Class of example ${k}`);
  side.value = String(point[2]);
  Object.assign(side.dataset, { row: k, column: 2 });
  fields.forEach((field, j) => {
    field.setAttribute("aria-label", `${state.names[j]} of example ${k}`);
    if (document.activeElement !== field) field.value = point[j];
    Object.assign(field.dataset, { row: k, column: j });
  });
  const button = row.querySelector("button");
  button.setAttribute("aria-label", `Remove example ${k}`);
  button.dataset.row = k;
}
