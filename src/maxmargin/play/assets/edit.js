// Placing, moving and removing points with mouse, finger and keyboard.

import { change, changePoints, remember, state, undo } from "./store.js";
import { short } from "./words.js";

const REACH = 18; // pixels around a point in which a press takes hold of it

export class Editor {
  held = null; // the point that keys move
  cursor = null; // where keys place one, while the plane has the focus
  #drag = null;

  constructor(picture, tell, mostPoints) {
    this.picture = picture;
    this.tell = tell;
    this.mostPoints = mostPoints;
    const { svg } = picture;
    svg.addEventListener("pointerdown", (event) => this.#press(event));
    svg.addEventListener("pointermove", (event) => this.#move(event));
    svg.addEventListener("pointerup", () => (this.#drag = null));
    svg.addEventListener("pointercancel", () => (this.#drag = null));
    svg.addEventListener("contextmenu", (event) => event.preventDefault());
    svg.addEventListener("keydown", (event) => this.#key(event));
    svg.addEventListener("focus", () => this.#enter());
    svg.addEventListener("blur", () => this.#leave());
  }

  get tool() {
    return Number(document.querySelector('input[name="tool"]:checked').value);
  }

  #place(event) {
    const box = this.picture.svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #nearest([px, py]) {
    let [found, distance] = [null, REACH];
    state.points.forEach((point, k) => {
      const [x, y] = this.picture.screenOf(point);
      const away = Math.hypot(x - px, y - py);
      if (away < distance) [found, distance] = [k, away];
    });
    return found;
  }

  #press(event) {
    const place = this.#place(event);
    const near = this.#nearest(place);
    const isRight = event.button === 2;
    if (isRight || this.tool === 0) {
      if (near !== null) this.remove(near);
      return;
    }
    if (event.button !== 0) return;
    this.held = null;
    this.cursor = null;
    if (near !== null) {
      remember();
      this.#drag = near;
      this.picture.svg.setPointerCapture(event.pointerId);
    } else if (this.#isInside(place)) {
      this.add(this.#rounded(place), event.shiftKey ? -this.tool : this.tool);
    }
  }

  #isInside([px, py]) {
    const { left, right, top, bottom } = this.picture.frame.inner;
    return px >= left && px <= right && py >= top && py <= bottom;
  }

  #move(event) {
    if (this.#drag === null || !state.points[this.#drag]) return;
    this.#put(this.#drag, this.#rounded(this.#place(event)));
  }

  // To hundredths of what one sees: nobody means more digits than that with a hand.
  #rounded([px, py]) {
    const unit = this.#unit();
    return this.picture.frame.toPlane(px, py).map((value) => Number((Math.round(value / unit) * unit).toPrecision(12)));
  }

  #unit() {
    const { left, right } = this.picture.frame.box;
    return 10 ** Math.floor(Math.log10((right - left) / 200));
  }

  #put(k, [x, y]) {
    const { left, right, bottom, top } = this.picture.frame.box;
    const moved = [Math.min(Math.max(x, left), right), Math.min(Math.max(y, bottom), top), state.points[k][2]];
    const points = state.points.slice();
    points[k] = moved;
    changePoints(points, { keepPast: false });
    return moved;
  }

  add([x, y], sign) {
    if (state.points.length >= this.mostPoints) {
      this.tell(`There is room for ${this.mostPoints} points.`);
      return;
    }
    changePoints([...state.points, [x, y, sign]]);
    this.tell(`Example ${state.points.length - 1}, ${this.#classOf(sign)}, at ${short(x)}, ${short(y)}.`);
  }

  remove(k) {
    changePoints(state.points.filter((_, j) => j !== k));
    this.held = null;
    this.tell(`Example ${k} removed; ${state.points.length} left.`);
  }

  flip(k) {
    const points = state.points.slice();
    points[k] = [points[k][0], points[k][1], -points[k][2]];
    changePoints(points);
    this.tell(`Example ${k} is now ${this.#classOf(points[k][2])}.`);
  }

  #classOf(sign) {
    return `class ${state.classes[sign > 0 ? 1 : 0]}`;
  }

  // ------------------------------------------------------------ keys

  #enter() {
    if (!this.picture.svg.matches(":focus-visible")) return;
    this.cursor ??= this.picture.frame.centre.slice();
    change("look");
  }

  #leave() {
    this.cursor = null;
    this.held = null;
    change("look");
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey) {
      if (event.key === "z") {
        event.preventDefault();
        undo();
      }
      return;
    }
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const actions = {
      n: () => this.#take(1),
      p: () => this.#take(-1),
      f: () => this.held !== null && this.flip(this.held),
      Delete: () => this.held !== null && this.remove(this.held),
      Backspace: () => this.held !== null && this.remove(this.held),
      Escape: () => (this.held = null),
      "+": () => this.add(this.cursor, 1),
      "=": () => this.add(this.cursor, 1),
      "-": () => this.add(this.cursor, -1),
    };
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!(key in arrows) && !(key in actions)) return;
    event.preventDefault();
    this.cursor ??= this.picture.frame.centre.slice();
    if (key in arrows) this.#shift(arrows[key], event.shiftKey ? 10 : 1);
    else actions[key]();
    change("look");
  }

  #shift([dx, dy], far) {
    const step = far * this.#unit() * 5;
    const tidy = (value) => Number(value.toPrecision(10));
    this.cursor = [tidy(this.cursor[0] + dx * step), tidy(this.cursor[1] + dy * step)];
    if (this.held === null) return;
    remember();
    this.cursor = this.#put(this.held, this.cursor).slice(0, 2);
  }

  #take(direction) {
    const n = state.points.length;
    if (n === 0) return;
    this.held = this.held === null ? (direction > 0 ? 0 : n - 1) : (this.held + direction + n) % n;
    const [x, y, sign] = state.points[this.held];
    this.cursor = [x, y];
    this.tell(`Example ${this.held} of ${n}, ${this.#classOf(sign)}, at ${short(x)}, ${short(y)}.`);
  }
}
