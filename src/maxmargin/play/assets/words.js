// Numbers as people write them.

const MINUS = "−";

export function short(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : `${MINUS}∞`;
  if (value === 0) return "0";
  const size = Math.abs(value);
  let text;
  if (size < 1e-4 || size >= 1e7) {
    const [mantissa, power] = size.toExponential(digits - 1).split("e");
    text = `${trim(mantissa)}·10${raised(Number(power))}`;
  } else {
    text = trim(Number(size.toPrecision(digits)).toString());
    if (size >= 10 ** digits) text = Math.round(size).toString();
  }
  return value < 0 ? MINUS + text : text;
}

function trim(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function raised(power) {
  return [...String(power)].map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign])).join("");
}

// θ₁ x₁ + θ₂ x₂ + θ₀ = 0
export function equation(theta, theta0, names) {
  const parts = [[theta[0], ` ${names[0]}`], [theta[1], ` ${names[1]}`], [theta0, ""]];
  const terms = parts.map(([value, name], k) => {
    const text = short(Math.abs(value)) + name;
    if (k === 0) return value < 0 ? MINUS + text : text;
    return (value < 0 ? ` ${MINUS} ` : " + ") + text;
  });
  return `${terms.join("")} = 0`;
}

export function count(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
