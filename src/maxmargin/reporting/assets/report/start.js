/* Bring the page to life, and draw anew when the window, the colours or the medium change. */

document.querySelectorAll(".table").forEach(makeTable);
document.querySelectorAll("[data-chart]").forEach((holder) => frames.push(new Frame(holder)));

function redrawAll() {
  frames.forEach((frame) => frame.draw());
}

let waiting = 0;
let width = window.innerWidth;
window.addEventListener("resize", () => {
  // On a phone the height changes with every scroll; only another width is another picture.
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(redrawAll, 120);
});
darkScreen.addEventListener("change", redrawAll);
onPaper.addEventListener("change", redrawAll);
window.addEventListener("beforeprint", () => {
  isPrinting = true;
  redrawAll();
});
window.addEventListener("afterprint", () => {
  isPrinting = false;
  redrawAll();
});
document.documentElement.dataset.ready = "yes";
