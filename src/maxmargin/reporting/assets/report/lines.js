/* Lines, bars, and points with intervals. */

function lineSeries(one) {
  return {
    label: one.name,
    scale: one.right ? "right" : "y",
    stroke: colour(one.colour),
    width: 2,
    dash: one.dash ? [6, 4] : undefined,
    spanGaps: true,
    points: { show: one.marks === true, size: 7, fill: colour(one.colour), stroke: colour("paper"), width: 1 },
  };
}

function known(values) {
  return values.filter((value) => value !== null);
}

/* From 0, unless that would press all lines into a corner; what is not decided may reach out of the picture. */
function rangeOf(list, ranges) {
  const values = list.flatMap((one) => known(one.values));
  let [low, high] = [Math.min(...values), Math.max(...values)];
  for (const [, from, to] of ranges) [low, high] = [Math.min(low, from), Math.max(high, Math.min(to, 3 * high))];
  if (!(high > 0)) return [0, 1];
  const room = 0.12 * (high - low) || 0.1 * high;
  return low > 0.5 * high ? [low - room, high + room] : [0, high + room];
}

/* An upright stroke with feet. */
function interval(u, x, low, high, name) {
  const [place, bottom, top] = [u.valToPos(x, "x", true), u.valToPos(low, "y", true), u.valToPos(high, "y", true)];
  const foot = 5 * uPlot.pxRatio;
  const ctx = u.ctx;
  ctx.strokeStyle = colour(name);
  ctx.lineWidth = 2 * uPlot.pxRatio;
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.moveTo(place, bottom);
  ctx.lineTo(place, top);
  for (const end of [bottom, top]) {
    ctx.moveTo(place - foot, end);
    ctx.lineTo(place + foot, end);
  }
  ctx.stroke();
}

drawers.lines = (spec) => {
  const left = spec.series.filter((one) => !one.right);
  const right = spec.series.filter((one) => one.right);
  const ranges = spec.ranges || [];
  const write = (one, value) => (spec.percent ? asPercent(value) : written(value));
  const first = left[left.length - 1];
  const places = spec.x.map((x, k) => k).filter((k) => spec.series.some((one) => one.values[k] !== null) ||
    ranges.some(([C]) => C === spec.x[k]));
  const log = Math.log10(spec.x[spec.x.length - 1] / spec.x[0]) * 0.03;
  return {
    data: [spec.x, ...spec.series.map((one) => one.values)],
    series: spec.series.map(lineSeries),
    x: [spec.x[0] / 10 ** log, spec.x[spec.x.length - 1] * 10 ** log],
    y: rangeOf(left, ranges),
    right: right.length ? rangeOf(right, []) : null,
    logX: true,
    byColumn: true,
    writeY: spec.percent ? percentTicks : plainTicks,
    count: places.length,
    legend: [
      ...spec.series.map((one) => ({ name: one.name, colour: one.colour, shape: one.dash ? "dashes" : "line" })),
      ...(ranges.length ? [{ name: "left out, not decided in time: between", colour: "doubtful", shape: "upright" }] : []),
      { name: "this model", colour: "ink", shape: "upright" },
    ],
    at: (k) => {
      const one = spec.series.find((each) => each.values[places[k]] !== null && each === first) ||
        spec.series.find((each) => each.values[places[k]] !== null);
      if (!one) return ranges.find(([C]) => C === spec.x[places[k]]);
      return [spec.x[places[k]], one.values[places[k]], one.right ? "right" : "y"];
    },
    say: (k) => {
      const parts = spec.series.filter((one) => one.values[places[k]] !== null)
        .map((one) => `${one.name} ${write(one, one.values[places[k]])}`);
      for (const [C, low, high] of ranges) {
        if (C === spec.x[places[k]]) parts.push(`wrong when left out ${asPercent(low)} to ${asPercent(high)}`);
      }
      return `C = ${written(spec.x[places[k]])}: ${parts.join(", ")}`;
    },
    below: (u) => verticalLine(u, spec.own, "ink", [], 1.5),
    above: (u) => ranges.forEach(([C, low, high]) => interval(u, C, low, high, "doubtful")),
  };
};

drawers.bars = (spec, view) => {
  const starts = view.edges.slice(0, -1);
  const sums = view.series.map((one, k) => starts.map((start, bin) =>
    view.series.slice(0, k + 1).reduce((sum, each) => sum + each.counts[bin], 0)));
  // The whole pile first, the lower parts over it.
  const order = view.series.map((one, k) => view.series.length - 1 - k);
  const total = sums[sums.length - 1];
  const step = view.edges[1] - view.edges[0];
  const last = view.edges[view.edges.length - 1];
  return {
    data: [starts, ...order.map((k) => sums[k])],
    series: order.map((k) => ({
      label: view.series[k].name,
      fill: colour(view.series[k].colour),
      stroke: colour("paper"),
      width: 0.5,
      paths: uPlot.paths.bars({ size: [1], align: 1, gap: 1 }),
      points: { show: false },
    })),
    x: [view.edges[0] - 0.3 * step, last + 0.3 * step],
    y: [0, 1.06 * Math.max(...total, 1)],
    byColumn: true,
    countsY: true,
    count: starts.length,
    legend: [
      ...view.series.map((one) => ({ name: one.name, colour: one.colour, shape: "square" })),
      { name: "errors", colour: "doubtful", shape: "area" },
    ],
    at: (k) => [starts[k] + 0.5 * step, total[k]],
    say: (k) => {
      const from = k === 0 ? "below" : written(starts[k]);
      const to = k === starts.length - 1 ? "or more" : k === 0 ? written(view.edges[1]) : `to ${written(view.edges[k + 1])}`;
      const counts = view.series.map((one) => `${one.counts[k]} ${one.name}`).join(", ");
      return `Agreement ${from} ${to}: ${counts} (of ${view.n})`;
    },
    below: (u) => {
      const zero = u.valToPos(0, "x", true);
      u.ctx.fillStyle = faint("doubtful", 0.16);
      u.ctx.fillRect(u.bbox.left, u.bbox.top, zero - u.bbox.left, u.bbox.height);
    },
    above: (u) => {
      verticalLine(u, 0, "ink", [], 2);
      verticalLine(u, 1, "muted", [5, 4], 1.2);
    },
  };
};

drawers.reliability = (spec) => ({
  data: [spec.predicted, spec.observed],
  series: [{ paths: () => null, points: { show: false } }],
  x: [-0.03, 1.03],
  y: [-0.03, 1.03],
  zoomsBoth: true,
  writeX: percentTicks,
  writeY: percentTicks,
  count: spec.predicted.length,
  legend: [
    { name: "observed, with its interval", colour: "accent", shape: "circle" },
    { name: "what the predictions say", colour: "muted", shape: "dashes" },
  ],
  at: (k) => [spec.predicted[k], spec.observed[k]],
  say: (k) => `Predicted ${asPercent(spec.predicted[k])}, observed ${asPercent(spec.observed[k])} ` +
    `(${asPercent(spec.low[k])} to ${asPercent(spec.high[k])}) of ${spec.counts[k]} rows`,
  below: (u) => {
    const ctx = u.ctx;
    ctx.strokeStyle = colour("muted");
    ctx.lineWidth = 1.2 * uPlot.pxRatio;
    ctx.setLineDash([5 * uPlot.pxRatio, 4 * uPlot.pxRatio]);
    ctx.beginPath();
    ctx.moveTo(u.valToPos(0, "x", true), u.valToPos(0, "y", true));
    ctx.lineTo(u.valToPos(1, "x", true), u.valToPos(1, "y", true));
    ctx.stroke();
    ctx.setLineDash([]);
  },
  above: (u) => {
    const ctx = u.ctx;
    ctx.fillStyle = colour("accent");
    for (let k = 0; k < spec.predicted.length; k += 1) {
      interval(u, spec.predicted[k], spec.low[k], spec.high[k], "accent");
      ctx.beginPath();
      drawCircle(ctx, u.valToPos(spec.predicted[k], "x", true), u.valToPos(spec.observed[k], "y", true), 5 * uPlot.pxRatio);
      ctx.fill();
    }
  },
});

drawers.gap = (spec, view) => {
  const lowest = Math.min(...view.gap, spec.goal);
  return {
    data: [view.x, view.gap],
    series: [{ ...lineSeries({ name: "relative gap", colour: "accent", marks: true }), paths: uPlot.paths.stepped({ align: 1 }) }],
    x: padded(0, view.x[view.x.length - 1], 0.03),
    y: [10 ** Math.floor(Math.log10(lowest) - 0.2), 10 ** Math.ceil(Math.log10(Math.max(...view.gap)) + 0.1)],
    logY: true,
    countsX: true,
    writeY: percentTicks,
    byColumn: true,
    count: view.x.length,
    legend: [
      { name: "proved distance from the optimum", colour: "accent", shape: "line" },
      { name: "goal", colour: "muted", shape: "dashes" },
    ],
    at: (k) => [view.x[k], view.gap[k]],
    say: (k) => `After ${written(view.x[k], 3)} readings: within ${asPercent(view.gap[k])} of the optimum`,
    below: (u) => {
      const y = u.valToPos(spec.goal, "y", true);
      const ctx = u.ctx;
      ctx.strokeStyle = colour("muted");
      ctx.lineWidth = 1.2 * uPlot.pxRatio;
      ctx.setLineDash([5 * uPlot.pxRatio, 4 * uPlot.pxRatio]);
      ctx.beginPath();
      ctx.moveTo(u.bbox.left, y);
      ctx.lineTo(u.bbox.left + u.bbox.width, y);
      ctx.stroke();
      ctx.setLineDash([]);
    },
  };
};
