// Screen and plane: equal scales in both directions, so that a distance on the screen is a distance.

export const MARGINS = { left: 46, right: 12, top: 12, bottom: 40 };

export class Frame {
  // `view` is what has to be visible; the longer side of the screen shows more.
  constructor(view, width, height, enlarged = 1) {
    this.enlarged = enlarged;
    this.inner = {
      left: MARGINS.left * enlarged,
      right: width - MARGINS.right,
      top: MARGINS.top,
      bottom: height - MARGINS.bottom * enlarged,
    };
    const { left, right, top, bottom } = this.inner;
    this.scale = Math.max(1e-9, Math.min((right - left) / (view.right - view.left), (bottom - top) / (view.top - view.bottom)));
    this.centre = [(view.left + view.right) / 2, (view.bottom + view.top) / 2];
    this.middle = [(left + right) / 2, (top + bottom) / 2];
    const [low, high] = [this.toPlane(left, bottom), this.toPlane(right, top)];
    this.box = { left: low[0], bottom: low[1], right: high[0], top: high[1] };
  }

  toScreen(x, y) {
    return [this.middle[0] + (x - this.centre[0]) * this.scale, this.middle[1] - (y - this.centre[1]) * this.scale];
  }

  toPlane(px, py) {
    return [this.centre[0] + (px - this.middle[0]) / this.scale, this.centre[1] - (py - this.middle[1]) / this.scale];
  }

  get corners() {
    const { left, right, bottom, top } = this.box;
    return [[left, bottom], [right, bottom], [right, top], [left, top]];
  }

  // The part of the visible plane where low ≤ θ·x + θ₀ ≤ high, as corners.
  strip({ theta, theta0 }, low, high) {
    const score = ([x, y]) => theta[0] * x + theta[1] * y + theta0;
    let shape = this.corners;
    if (Number.isFinite(low)) shape = cut(shape, (point) => score(point) - low);
    if (Number.isFinite(high)) shape = cut(shape, (point) => high - score(point));
    return shape;
  }

  // Where the line θ·x + θ₀ = level enters and leaves the visible plane; null if it does not.
  line(model, level) {
    const below = this.strip(model, -Infinity, level);
    if (below.length < 3) return null;
    const { theta, theta0 } = model;
    const near = 1e-9 * (Math.abs(theta0) + Math.hypot(...theta) * Math.hypot(...this.centre, this.box.right - this.box.left) + Math.abs(level));
    const ends = below.filter(([x, y]) => Math.abs(theta[0] * x + theta[1] * y + theta0 - level) <= near);
    return ends.length >= 2 ? [ends[0], ends[ends.length - 1]] : null;
  }
}

// Keep the part of a convex shape where `side` is not negative.
function cut(shape, side) {
  const kept = [];
  shape.forEach((point, k) => {
    const next = shape[(k + 1) % shape.length];
    const [here, there] = [side(point), side(next)];
    if (here >= 0) kept.push(point);
    if (here * there < 0) {
      const share = here / (here - there);
      kept.push([point[0] + share * (next[0] - point[0]), point[1] + share * (next[1] - point[1])]);
    }
  });
  return kept;
}

// A view that shows all points with some room around them.
export function viewOf(points) {
  if (points.length === 0) return { left: -4, right: 4, bottom: -3, top: 3 };
  const [xs, ys] = [points.map((point) => point[0]), points.map((point) => point[1])];
  const [left, right, bottom, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const room = 0.08 * Math.max(right - left, top - bottom) || 1;
  return { left: left - room, right: right + room, bottom: bottom - room, top: top + room };
}

export const isInside = ([x, y], { left, right, bottom, top }) => x >= left && x <= right && y >= bottom && y <= top;

// Round numbers between low and high, at most `most` of them.
export function ticks(low, high, most) {
  const rough = (high - low) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k += 1) found.push(Number((k * step).toPrecision(10)));
  return found;
}
