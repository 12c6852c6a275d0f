// Making and changing SVG elements.

const SPACE = "http://www.w3.org/2000/svg";

export function element(name, attributes = {}, parent = null) {
  const made = document.createElementNS(SPACE, name);
  set(made, attributes);
  if (parent) parent.append(made);
  return made;
}

export function set(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) target.setAttribute(name, value);
}

export const px = (number) => Math.round(number * 100) / 100;

export function pathThrough(points, isClosed = false) {
  if (points.length === 0) return "";
  return `M${points.map(([x, y]) => `${px(x)} ${px(y)}`).join("L")}${isClosed ? "Z" : ""}`;
}

// Circles around many places, as one path: a thousand elements would be a thousand times the work.
export function circles(places, radius) {
  return places
    .map(([x, y]) => `M${px(x - radius)} ${px(y)}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`)
    .join("");
}

export const triangle = (radius) =>
  `M0 ${px(-1.28 * radius)}L${px(1.2 * radius)} ${px(0.88 * radius)}H${px(-1.2 * radius)}Z`;
