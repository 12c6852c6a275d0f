/* Rows by their distance to the boundary: one mark each, or squares that stand for many. */

function padded(low, high, share = 0.05) {
  const room = share * (high - low) || 0.5;
  return [low - room, high + room];
}

function limits(values, ...further) {
  if (values.length + further.length === 0) return [-1, 1];
  let [low, high] = [Infinity, -Infinity];
  for (const value of [...values, ...further]) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return padded(low, high);
}

/* The band between the margin boundaries, and the boundary itself. */
function drawMargin(u, margin) {
  const [left, right] = [-margin, margin].map((x) => u.valToPos(x, "x", true));
  u.ctx.fillStyle = faint("ink", 0.05);
  u.ctx.fillRect(left, u.bbox.top, right - left, u.bbox.height);
  for (const x of [-margin, margin]) verticalLine(u, x, "muted", [5, 4], 1.2);
  verticalLine(u, 0, "ink", [], 2);
}

function drawTriangle(ctx, x, y, r) {
  ctx.moveTo(x, y - 1.15 * r);
  ctx.lineTo(x + r, y + 0.75 * r);
  ctx.lineTo(x - r, y + 0.75 * r);
  ctx.closePath();
}

function drawCircle(ctx, x, y, r) {
  ctx.moveTo(x + 0.85 * r, y);
  ctx.arc(x, y, 0.85 * r, 0, 2 * Math.PI);
}

drawers.scatter = (spec, view) => {
  const isWrong = view.x.map((x, k) => (view.positive[k] ? x <= 0 : x >= 0));
  const radius = view.x.length > 600 ? 3 : 4;
  return {
    data: [view.x, view.y],
    series: [{ paths: () => null, points: { show: false } }],
    x: limits(view.x, -view.margin, view.margin),
    y: limits(view.y),
    zoomsBoth: true,
    count: view.x.length,
    legend: [
      { name: view.sides[0], colour: "negative", shape: "circle" },
      { name: view.sides[1], colour: "positive", shape: "triangle" },
      { name: "on the wrong side", colour: "ink", shape: "ring" },
    ],
    at: (k) => [view.x[k], view.y[k]],
    say: (k) => {
      const own = view.sides[view.positive[k]];
      const verdict = isWrong[k] ? "on the wrong side" : Math.abs(view.x[k]) < view.margin ? "inside the margin" : "clear";
      return `Row ${view.row[k]}, labelled ${own}: ${verdict}, ${written(Math.abs(view.x[k]), 3)} from the boundary`;
    },
    below: (u) => drawMargin(u, view.margin),
    above: (u) => {
      const ctx = u.ctx;
      const r = radius * uPlot.pxRatio;
      for (const side of [0, 1]) {
        ctx.fillStyle = faint(side ? "positive" : "negative", 0.72);
        ctx.beginPath();
        for (let k = 0; k < view.x.length; k += 1) {
          if (view.positive[k] !== side) continue;
          (side ? drawTriangle : drawCircle)(ctx, u.valToPos(view.x[k], "x", true), u.valToPos(view.y[k], "y", true), r);
        }
        ctx.fill();
      }
      ctx.strokeStyle = colour("ink");
      ctx.lineWidth = 1.3 * uPlot.pxRatio;
      ctx.beginPath();
      for (let k = 0; k < view.x.length; k += 1) {
        if (isWrong[k]) drawCircle(ctx, u.valToPos(view.x[k], "x", true), u.valToPos(view.y[k], "y", true), 1.9 * r);
      }
      ctx.stroke();
    },
  };
};

/* Squares grow with the number of rows: their area tells, colours are mixed side by side. */
drawers.density = (spec, view) => {
  const [negative, positive] = view.counts;
  const total = negative.map((count, k) => count + positive[k]);
  const most = Math.max(...total, 1);
  return {
    data: [view.x, view.y],
    series: [{ paths: () => null, points: { show: false } }],
    x: limits(view.x, -1.5 * view.margin, 1.5 * view.margin),
    y: limits(view.y),
    zoomsBoth: true,
    count: view.x.length,
    legend: [
      { name: view.sides[0], colour: "negative", shape: "square" },
      { name: view.sides[1], colour: "positive", shape: "square" },
    ],
    at: (k) => [view.x[k], view.y[k]],
    say: (k) => `Around ${written(view.x[k], 3)} from the boundary: ${negative[k]} ${view.sides[0]}, ${positive[k]} ${view.sides[1]}`,
    below: (u) => drawMargin(u, view.margin),
    above: (u) => {
      const wide = Math.abs(u.valToPos(view.cell[0], "x", true) - u.valToPos(0, "x", true));
      const high = Math.abs(u.valToPos(view.cell[1], "y", true) - u.valToPos(0, "y", true));
      for (let k = 0; k < total.length; k += 1) {
        const size = 0.96 * Math.max(0.2, Math.sqrt(total[k] / most));
        const [w, h] = [size * wide, size * high];
        const [x, y] = [u.valToPos(view.x[k], "x", true) - w / 2, u.valToPos(view.y[k], "y", true) - h / 2];
        const share = negative[k] / total[k];
        u.ctx.fillStyle = colour("negative");
        u.ctx.fillRect(x, y, w * share, h);
        u.ctx.fillStyle = colour("positive");
        u.ctx.fillRect(x + w * share, y, w * (1 - share), h);
      }
    },
  };
};
