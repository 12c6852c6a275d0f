/* The frame around every chart: choice of view, legend, zoom, keyboard, and a line that says what is pointed at.

   A drawer turns the data of a view into a picture:
     { data, series, x: [low, high], y: [low, high], legend, say(index), at(index), below(u), above(u), … }
   uPlot does axes, zoom and cursor; what it has no mark for is drawn by below and above its own. */

const drawers = {};
const frames = [];

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

class Frame {
  constructor(holder) {
    this.holder = holder;
    this.spec = JSON.parse(document.getElementById(holder.dataset.chart).textContent);
    this.view = 0;
    this.index = -1;
    this.plot = element("div", "plot");
    this.plot.tabIndex = 0;
    this.plot.setAttribute("role", "application");
    this.plot.setAttribute("aria-roledescription", "chart");
    this.plot.setAttribute("aria-label", `${holder.dataset.title}. Arrow keys go from point to point, plus and ` +
      "minus zoom, Escape shows all. The numbers are in a table below.");
    this.legend = element("ul", "legend");
    this.readout = element("p", "readout");
    this.readout.setAttribute("role", "status");
    const tools = element("div", "tools screen-only");
    this.addChoice(tools);
    this.reset = element("button", "reset", "Show all");
    this.reset.type = "button";
    this.reset.hidden = true;
    this.reset.addEventListener("click", () => this.showAll());
    tools.append(this.reset);
    holder.append(tools, this.legend, this.plot, this.readout);
    this.plot.addEventListener("keydown", (event) => this.onKey(event));
    this.draw();
  }

  addChoice(tools) {
    const views = this.spec.views;
    if (!views || views.length < 2) return;
    const label = element("label", "choice", "Show ");
    const select = element("select");
    views.forEach((view, k) => {
      const option = element("option", "", view.name);
      option.value = k;
      select.append(option);
    });
    select.addEventListener("change", () => {
      this.view = Number(select.value);
      this.index = -1;
      this.draw();
    });
    label.append(select);
    tools.append(label);
  }

  draw() {
    if (this.u) this.u.destroy();
    const view = this.spec.views ? this.spec.views[this.view] : this.spec;
    this.picture = drawers[this.spec.kind](this.spec, view);
    this.u = new uPlot(this.options(), this.picture.data, this.plot);
    this.u.root.setAttribute("aria-hidden", "true");
    this.drawLegend();
    this.say(-1);
    this.reset.hidden = true;
  }

  size() {
    const width = isPrinting || onPaper.matches ? 640 : Math.max(this.plot.clientWidth, 200);
    return { width, height: Math.round(Math.min(380, Math.max(240, 0.56 * width))) };
  }

  options() {
    const picture = this.picture;
    const scales = {
      x: { time: false, auto: false, min: picture.x[0], max: picture.x[1], range: keep, distr: picture.logX ? 3 : 1 },
      y: { auto: false, min: picture.y[0], max: picture.y[1], range: keep, distr: picture.logY ? 3 : 1 },
    };
    const axes = [
      axis(this.spec.xLabel, picture.writeX || plainTicks, { size: 28, space: 56, ...ticks(picture.logX, picture.countsX) }),
      axis(this.spec.yLabel, picture.writeY || plainTicks, { size: wideEnough, space: 34, ...ticks(picture.logY, picture.countsY) }),
    ];
    if (picture.right) {
      scales.right = { auto: false, min: picture.right[0], max: picture.right[1], range: keep };
      axes.push(axis(this.spec.rightLabel, plainTicks, {
        size: wideEnough, space: 34, scale: "right", side: 1, grid: { show: false }, ...ticks(false, true),
      }));
    }
    return {
      ...this.size(),
      scales,
      axes,
      series: [{}, ...picture.series],
      legend: { show: false },
      padding: [10, picture.right ? 0 : 14, 0, 0],
      cursor: {
        y: false,
        drag: { x: true, y: picture.zoomsBoth === true, uni: 30 },
        points: { show: false },
        bind: { dblclick: () => () => this.showAll() },
      },
      hooks: {
        drawAxes: [(u) => clipped(u, picture.below)],
        draw: [(u) => { clipped(u, picture.above); this.drawMark(u); }],
        setCursor: [(u) => this.onPoint(u)],
        setScale: [(u, key) => this.onZoom(u, key)],
      },
    };
  }

  drawLegend() {
    this.legend.replaceChildren(...this.picture.legend.map((entry) => {
      const item = element("li");
      item.append(swatch(entry), document.createTextNode(entry.name));
      return item;
    }));
  }

  /* What is pointed at gets a ring, so that eye and sentence meet. */
  drawMark(u) {
    if (this.index < 0) return;
    const place = this.picture.at(this.index);
    clipped(u, () => {
      const ctx = u.ctx;
      ctx.strokeStyle = colour("ink");
      ctx.lineWidth = 2 * uPlot.pxRatio;
      ctx.beginPath();
      ctx.arc(u.valToPos(place[0], "x", true), u.valToPos(place[1], place[2] || "y", true), 7 * uPlot.pxRatio, 0, 2 * Math.PI);
      ctx.stroke();
    });
  }

  onPoint(u) {
    if (this.isMoving) return;
    const { left, top } = u.cursor;
    if (left === null || left < 0) return;
    this.say(nearest(u, this.picture, left, top));
  }

  say(index) {
    const hint = "Point at the chart, or use the arrow keys; drag to zoom.";
    this.readout.textContent = index < 0 ? hint : this.picture.say(index);
    if (index === this.index) return;
    this.index = index;
    this.u.redraw(false, false);
  }

  onZoom(u, key) {
    if (key !== "x" && key !== "y") return;
    const { min, max } = u.scales[key];
    const [low, high] = this.picture[key];
    if (min !== undefined && min !== null) {
      this.zoomed = { ...this.zoomed, [key]: Math.abs(min - low) + Math.abs(max - high) > 1e-9 * (high - low) };
    }
    this.reset.hidden = !(this.zoomed && (this.zoomed.x || this.zoomed.y));
  }

  showAll() {
    const [x, y] = [this.picture.x, this.picture.y];
    this.u.setScale("x", { min: x[0], max: x[1] });
    this.u.setScale("y", { min: y[0], max: y[1] });
  }

  onKey(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) this.move(step);
    else if (event.key === "+" || event.key === "=") this.zoom(0.5);
    else if (event.key === "-") this.zoom(2);
    else if (event.key === "Escape" || event.key === "0") this.showAll();
    else return;
    event.preventDefault();
  }

  move(step) {
    const last = this.picture.count - 1;
    const next = this.index < 0 ? (step > 0 ? 0 : last) : Math.min(last, Math.max(0, this.index + step));
    this.say(next);
  }

  zoom(factor) {
    const { min, max } = this.u.scales.x;
    const [to, back] = this.picture.logX ? [Math.log10, (v) => 10 ** v] : [(v) => v, (v) => v];
    const [low, high, all] = [to(min), to(max), this.picture.x.map(to)];
    const middle = this.index < 0 ? 0.5 * (low + high) : to(this.picture.at(this.index)[0]);
    const half = 0.5 * factor * (high - low);
    const begin = Math.max(all[0], middle - half);
    const end = Math.min(all[1], middle + half);
    this.u.setScale("x", { min: back(begin), max: back(end) });
  }
}

/* Limits are ours or the reader's, never uPlot's guess. */
function keep(u, low, high) {
  return [low, high];
}

function axis(label, values, further) {
  return {
    label,
    labelSize: 18,
    labelGap: 2,
    gap: 4,
    values,
    stroke: colour("muted"),
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
    grid: { stroke: colour("soft_line"), width: 1 },
    ticks: { stroke: colour("soft_line"), width: 1, size: 5 },
    ...further,
  };
}

/* Counts have whole numbers only, logarithms whole powers of ten. */
const steps = [1, 2, 5].flatMap((first) => [0, 1, 2, 3, 4, 5, 6, 7].map((power) => first * 10 ** power)).sort((a, b) => a - b);

function ticks(isLog, counts) {
  if (counts) return { incrs: steps };
  return isLog ? { splits: powersOfTen, filter: (u, splits) => splits } : {};
}

function powersOfTen(u, axisIndex, low, high, step, space) {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const pixels = axisIndex === 0 ? u.bbox.width : u.bbox.height;
  const most = Math.max(2, Math.floor(pixels / uPlot.pxRatio / (axisIndex === 0 ? 56 : 34)));
  const every = Math.ceil((last - first + 1) / most);
  const powers = [];
  for (let power = first; power <= last; power += every) powers.push(10 ** power);
  return powers.length > 1 ? powers : [low, high].map((value) => Number(value.toPrecision(2)));
}

function wideEnough(u, values) {
  return 16 + 7 * Math.max(4, ...(values || []).map((text) => String(text).length));
}

function plainTicks(u, splits) {
  return splits.map((value) => (value === null ? "" : written(value)));
}

function percentTicks(u, splits) {
  return splits.map((value) => (value === null ? "" : asPercent(value, 6)));
}

/* Draw within the axes only. */
function clipped(u, paint) {
  if (!paint) return;
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(left, top, width, height);
  u.ctx.clip();
  paint(u);
  u.ctx.restore();
}

function nearest(u, picture, left, top) {
  let best = -1;
  let least = 40 * 40;
  for (let k = 0; k < picture.count; k += 1) {
    const place = picture.at(k);
    const dx = u.valToPos(place[0], "x") - left;
    const dy = picture.byColumn ? 0 : u.valToPos(place[1], place[2] || "y") - top;
    const distance = dx * dx + dy * dy;
    if (distance < least) [best, least] = [k, distance];
  }
  return best;
}

function verticalLine(u, x, name, dash, width = 1.5) {
  const place = Math.round(u.valToPos(x, "x", true));
  const ctx = u.ctx;
  ctx.save();
  ctx.strokeStyle = colour(name);
  ctx.lineWidth = width * uPlot.pxRatio;
  ctx.setLineDash(dash.map((part) => part * uPlot.pxRatio));
  ctx.beginPath();
  ctx.moveTo(place, u.bbox.top);
  ctx.lineTo(place, u.bbox.top + u.bbox.height);
  ctx.stroke();
  ctx.restore();
}

/* A small picture of a mark for the legend: shape says as much as colour. */
function swatch(entry) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 20 12");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", `swatch ${entry.colour}`);
  const shapes = {
    circle: ["circle", { cx: 10, cy: 6, r: 4.5 }],
    triangle: ["path", { d: "M10 1 L15.5 11 L4.5 11 Z" }],
    square: ["rect", { x: 5, y: 1, width: 10, height: 10 }],
    ring: ["circle", { cx: 10, cy: 6, r: 4.5, class: "hollow" }],
    area: ["rect", { x: 1, y: 0, width: 18, height: 12, class: "area" }],
    upright: ["path", { d: "M10 0 V12", class: "line" }],
    line: ["path", { d: "M0 6 H20", class: "line" }],
    dashes: ["path", { d: "M0 6 H7 M13 6 H20", class: "line" }],
  };
  const [name, attributes] = shapes[entry.shape];
  const shape = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, value);
  svg.append(shape);
  return svg;
}
