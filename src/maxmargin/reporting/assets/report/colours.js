"use strict";
/* Colours for canvases, which know no style sheet: those of results/palette.py, light, dark or printed. */

const palettes = JSON.parse(document.getElementById("palettes").textContent);
const darkScreen = matchMedia("(prefers-color-scheme: dark)");
const onPaper = matchMedia("print");
let isPrinting = false;

function colour(name) {
  const isDark = darkScreen.matches && !onPaper.matches && !isPrinting;
  return (isDark ? palettes.dark : palettes.light)[name];
}

/* The same colour, seen through: opacity between 0 and 1. */
function faint(name, opacity) {
  return colour(name) + Math.round(255 * opacity).toString(16).padStart(2, "0");
}

/* Numbers as the rest of the page writes them. */
function written(value, digits = 4) {
  if (value === null || value === undefined) return "";
  const rounded = Number(value.toPrecision(digits));
  const text = Math.abs(rounded) >= 1000 && Math.abs(rounded) < 1e7 ? rounded.toLocaleString("en") : String(rounded);
  return text.replace("-", "−").replace("e+", "e");
}

function asPercent(value, digits = 3) {
  if (value === null || value === undefined) return "";
  const share = 100 * value;
  const small = share !== 0 && (Math.abs(share) < 1e-4 || Math.abs(share) >= 1e5);
  const text = small ? share.toExponential(0).replace("e+", "e").replace("-", "−") : written(share, digits);
  return `${text}\u00a0%`;
}
