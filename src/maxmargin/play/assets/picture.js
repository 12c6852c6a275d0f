// The plane: regions, bands, boundary, slacks, points and their marks.

import { Frame, ticks } from "./geometry.js";
import { circles, element, pathThrough, px, set, triangle } from "./svg.js";
import { short } from "./words.js";

const VISIBLE_SLACK = 1e-3; // as the displays of the library have it
const LAYERS = ["grid", "regions", "old", "reference", "slacks", "lines", "arrow", "rings", "points", "marks", "hint", "cursor"];

export class Picture {
  constructor(svg) {
    this.svg = svg;
    const clip = element("clipPath", { id: "inside" }, element("defs", {}, svg));
    this.inside = element("rect", {}, clip);
    this.layers = {};
    for (const name of LAYERS) {
      const clipped = name === "grid" ? {} : { "clip-path": "url(#inside)" };
      this.layers[name] = element("g", { class: `layer-${name}`, ...clipped }, svg);
    }
    this.drawn = null; // the points that are on the screen now
    this.frame = new Frame({ left: -1, right: 1, bottom: -1, top: 1 }, 100, 100);
  }

  paint(scene) {
    const { width, height } = this.svg.getBoundingClientRect();
    const enlarged = scene.enlarged;
    const key = JSON.stringify([scene.view, width, height, enlarged, scene.names]);
    if (key !== this.key) {
      this.key = key;
      this.frame = new Frame(scene.view, width, height, enlarged);
      set(this.svg, { viewBox: `0 0 ${px(width)} ${px(height)}` });
      this.#paintGrid(scene.names);
      this.drawn = null;
    }
    this.radius = px((scene.points.length > 200 ? 4 : scene.points.length > 70 ? 5.5 : 7) * enlarged);
    this.#paintPoints(scene.points);
    this.#paintModel(scene);
    this.#paintMarks(scene);
    this.#paintHint(scene.points.length === 0);
  }

  screenOf([x, y]) {
    return this.frame.toScreen(x, y);
  }

  // Elements that are there already are changed: making new ones takes longer.
  #paths(layer, shapes) {
    const parent = this.layers[layer];
    const parts = shapes.filter((shape) => shape.d);
    while (parent.childElementCount > parts.length) parent.lastElementChild.remove();
    while (parent.childElementCount < parts.length) element("path", {}, parent);
    parts.forEach((part, k) => {
      const target = parent.children[k];
      for (const name of target.getAttributeNames()) if (!(name in part)) target.removeAttribute(name);
      for (const [name, value] of Object.entries(part)) {
        if (target.getAttribute(name) !== String(value)) target.setAttribute(name, value);
      }
    });
  }

  #paintGrid(names) {
    const { inner, box } = this.frame;
    const grid = this.layers.grid;
    grid.replaceChildren();
    set(this.inside, { x: inner.left, y: inner.top, width: inner.right - inner.left, height: inner.bottom - inner.top });
    element("rect", { class: "sheet", x: inner.left, y: inner.top, width: inner.right - inner.left, height: inner.bottom - inner.top }, grid);
    const room = 70 * this.frame.enlarged;
    for (const x of ticks(box.left, box.right, (inner.right - inner.left) / room)) {
      const [at] = this.frame.toScreen(x, 0);
      element("path", { class: "rule", d: `M${px(at)} ${px(inner.top)}V${px(inner.bottom)}` }, grid);
      element("text", { class: "tick", x: px(at), y: px(inner.bottom + 15 * this.frame.enlarged), "text-anchor": "middle" }, grid).textContent = short(x);
    }
    for (const y of ticks(box.bottom, box.top, (inner.bottom - inner.top) / room)) {
      const [, at] = this.frame.toScreen(0, y);
      element("path", { class: "rule", d: `M${px(inner.left)} ${px(at)}H${px(inner.right)}` }, grid);
      element("text", { class: "tick", x: px(inner.left - 6), y: px(at), dy: "0.35em", "text-anchor": "end" }, grid).textContent = short(y);
    }
    const below = inner.bottom + 33 * this.frame.enlarged;
    element("text", { class: "axis", x: px((inner.left + inner.right) / 2), y: px(below), "text-anchor": "middle" }, grid).textContent = names[0];
    const middle = (inner.top + inner.bottom) / 2;
    const beside = 13 * this.frame.enlarged;
    element("text", { class: "axis", x: px(beside), y: px(middle), "text-anchor": "middle", transform: `rotate(-90 ${px(beside)} ${px(middle)})` }, grid).textContent = names[1];
  }

  #paintPoints(points) {
    if (this.drawn === points && this.drawnRadius === this.radius) return;
    this.drawn = points;
    this.drawnRadius = this.radius;
    const shape = { 1: triangle(this.radius), "-1": circles([[0, 0]], this.radius) };
    const layer = this.layers.points;
    while (layer.childElementCount > points.length) layer.lastElementChild.remove();
    while (layer.childElementCount < points.length) element("path", {}, layer);
    points.forEach(([x, y, sign], k) => {
      const [sx, sy] = this.frame.toScreen(x, y);
      set(layer.children[k], {
        class: `point ${sign > 0 ? "positive" : "negative"}`,
        d: shape[sign],
        transform: `translate(${px(sx)} ${px(sy)})`,
        "data-point": k,
      });
    });
  }

  #strip(model, low, high) {
    return pathThrough(this.frame.strip(model, low, high).map((corner) => this.screenOf(corner)), true);
  }

  #line(model, level) {
    const ends = this.frame.line(model, level);
    return ends ? pathThrough(ends.map((end) => this.screenOf(end))) : "";
  }

  #paintModel({ shown, reference, before, points, hasSlacks, hasBands }) {
    const flat = (model) => !model || Math.hypot(...model.theta) < 1e-300;
    const { frame } = this;
    const outer = hasBands ? 1 : 0;
    this.#paths("regions", flat(shown) ? [] : [
      { class: "region positive", d: this.#strip(shown, outer, Infinity) },
      { class: "region negative", d: this.#strip(shown, -Infinity, -outer) },
      ...(hasBands ? [
        { class: "region inner positive", d: this.#strip(shown, 0, 1) },
        { class: "region inner negative", d: this.#strip(shown, -1, 0) },
      ] : []),
    ]);
    this.#paths("lines", flat(shown) ? [] : [
      ...(hasBands ? [
        { class: "band positive", d: this.#line(shown, 1), "data-level": 1 },
        { class: "band negative", d: this.#line(shown, -1), "data-level": -1 },
      ] : []),
      { class: "boundary", d: this.#line(shown, 0), "data-level": 0 },
    ]);
    this.#paths("reference", flat(reference) ? [] : [{ class: "reference", d: this.#line(reference, 0) }]);
    this.#paths("old", flat(before) ? [] : [{ class: "before", d: this.#line(before, 0) }]);
    this.#paintSlacks(flat(shown) || !hasSlacks ? null : shown, points);
    this.#paintArrow(flat(shown) || !hasBands ? null : shown, frame);
  }

  #paintSlacks(shown, points) {
    const segments = { 1: [], "-1": [] };
    if (shown && shown.agreements && shown.agreements.length === points.length) {
      const square = shown.theta[0] ** 2 + shown.theta[1] ** 2;
      points.forEach(([x, y, sign], k) => {
        const slack = 1 - shown.agreements[k];
        if (slack <= VISIBLE_SLACK) return;
        const share = (sign * slack) / square;
        const end = [x + share * shown.theta[0], y + share * shown.theta[1]];
        segments[sign].push(pathThrough([this.frame.toScreen(x, y), this.screenOf(end)]));
      });
    }
    this.#paths("slacks", [
      { class: "slack positive", d: segments[1].join("") },
      { class: "slack negative", d: segments[-1].join("") },
    ]);
  }

  // From the boundary to the +1 band: its length is the margin, its direction θ.
  #paintArrow(shown, frame) {
    const layer = this.layers.arrow;
    layer.replaceChildren();
    const ends = shown && frame.line(shown, 0);
    if (!ends) return;
    const square = shown.theta[0] ** 2 + shown.theta[1] ** 2;
    const length = frame.scale / Math.sqrt(square);
    if (length < 12) return;
    const upper = ends[0][1] > ends[1][1] ? ends[0] : ends[1];
    const lower = upper === ends[0] ? ends[1] : ends[0];
    const start = [0, 1].map((j) => upper[j] + 0.12 * (lower[j] - upper[j]));
    const tip = [0, 1].map((j) => start[j] + shown.theta[j] / square);
    const [a, b] = [this.screenOf(start), this.screenOf(tip)];
    const [ux, uy] = [(b[0] - a[0]) / length, (b[1] - a[1]) / length];
    const head = 7 * frame.enlarged;
    const wing = (side) => [b[0] - head * ux + 0.5 * side * head * uy, b[1] - head * uy - 0.5 * side * head * ux];
    element("path", { class: "arrow", d: pathThrough([a, b]) }, layer);
    element("path", { class: "arrow-head", d: pathThrough([b, wing(1), wing(-1)], true) }, layer);
    if (length < 55 * frame.enlarged) return;
    const at = [(a[0] + b[0]) / 2 + 12 * frame.enlarged * uy, (a[1] + b[1]) / 2 - 12 * frame.enlarged * ux];
    const label = element("text", { class: "label", x: px(at[0]), y: px(at[1]), dy: "0.35em", "text-anchor": uy < -0.3 ? "end" : uy > 0.3 ? "start" : "middle" }, layer);
    label.textContent = "1/‖θ‖";
  }

  #paintHint(isEmpty) {
    const { inner, enlarged } = this.frame;
    this.layers.hint.replaceChildren();
    if (!isEmpty) return;
    const at = { class: "hint", x: px((inner.left + inner.right) / 2), "text-anchor": "middle" };
    const middle = (inner.top + inner.bottom) / 2;
    element("text", { ...at, y: px(middle) }, this.layers.hint).textContent = "Click to place points of both classes";
    element("text", { ...at, y: px(middle + 28 * enlarged) }, this.layers.hint).textContent = "(Shift: the other class)";
  }

  #paintMarks({ points, support, leftOut, visited, held, cursor }) {
    const at = (k) => (points[k] ? [this.screenOf(points[k])] : []);
    const { radius } = this;
    this.layers.rings.classList.toggle("crowded", points.length > 150);
    this.#paths("rings", [
      { class: "ring", d: circles((support || []).flatMap(at), px(radius * 1.65)) },
      { class: "left-out", d: circles((leftOut || []).flatMap(at), px(radius * 2.2)) },
    ]);
    this.#paths("marks", [
      ...(visited ? [{ class: `visited ${visited.moved ? "moved" : ""}`, d: circles(at(visited.index), px(radius * 2.3)) }] : []),
      ...(held === null ? [] : [{ class: "held", d: circles(at(held), px(radius * 2)) }]),
    ]);
    if (!cursor) {
      this.layers.cursor.replaceChildren();
      return;
    }
    const [x, y] = this.screenOf(cursor);
    this.#paths("cursor", [{ class: "cross", d: `M${px(x - 12)} ${px(y)}H${px(x + 12)}M${px(x)} ${px(y - 12)}V${px(y + 12)}` }]);
  }
}
