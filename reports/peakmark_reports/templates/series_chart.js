// ---- the chart of one metric ----

const kMarkColours = { regression: "--bad", suspicious: "--warn", improvement: "--good", recovery: "--good" };

function runTimes(runs) {
  const times = runs.map((run) => Date.parse(run.date));
  const ordered = times.every((time, i) => Number.isFinite(time) && (i === 0 || time >= times[i - 1]));
  return ordered && times[times.length - 1] > times[0] ? times : runs.map((_history_run, i) => i);
}

// The levels if there are few, else evenly spaced values; omits ticks whose labels would overlap.
function yTicks(values, low, high, y) {
  const levels = [...new Set(values)].sort((a, b) => a - b);
  const wanted = levels.length <= 4 ? levels : [0, 1, 2, 3].map((i) => low + (high - low) * (i + 0.5) / 4);
  const ticks = [];
  for (const one of wanted) if (ticks.length === 0 || y(ticks[ticks.length - 1]) - y(one) >= 14) ticks.push(one);
  return ticks;
}
function distinctTexts(name, ticks) {
  for (const digits of [4, 6, 9]) {
    const texts = ticks.map((tick) => metric(name).text(tick, digits));
    if (new Set(texts).size === texts.length) return texts;
  }
  return ticks.map((tick) => tick.toLocaleString("en"));
}

// spec: { name, values, runs, environment: [{ at, text }], changes: [{ at, verdict, relative, … }], outcomes, window }
function chart(spec) {
  const { name, values, runs } = spec;
  const figure = element("figure", { class: "chart" });
  const title = metric(name).title;
  const svg = shape("svg", { "aria-label": `${title} over all runs. Arrow keys move, C goes to the next change.` });
  const caption = element("figcaption", { "aria-live": "polite" });
  figure.append(element("h4", {}, name === "estimate_ratio" && spec.window ? `${title}, window ${spec.window[0]} to ${spec.window[1]}` : title), svg, caption);
  const measured = values.filter((value) => value !== null);
  const last = values.length - 1;
  const times = runTimes(runs);
  const changes = spec.changes.filter((change) => change.metric === name);
  let low = Math.min(...measured), high = Math.max(...measured);
  if (spec.window && name === "estimate_ratio") {
    low = Math.min(low, spec.window[0]);
    high = Math.max(high, spec.window[1]);
  }
  const margin = high > low ? (high - low) * 0.12 : Math.max(Math.abs(high) * 0.1, 1e-9);
  low -= margin;
  high += margin;
  let geometry = null;
  const cursor = shape("line", { stroke: "var(--ink)", "stroke-dasharray": "3 3" });
  const dot = shape("circle", { r: 3.5, fill: "var(--ink)" });

  const describe = () => {
    const at = walk.at;
    const x = geometry.x(at);
    cursor.setAttribute("x1", x); cursor.setAttribute("x2", x);
    const value = values[at];
    dot.setAttribute("visibility", value === null ? "hidden" : "visible");
    if (value !== null) { dot.setAttribute("cx", x); dot.setAttribute("cy", geometry.y(value)); }
    const parts = [`${runs[at].date.slice(0, 10)}: ${value === null ? "not measured" : exact_text(name, value)}`];
    const outcome = spec.outcomes[at];
    if (outcome === null) parts.push("not planned");
    else if (outcome !== "ok") parts.push(outcome.replaceAll("_", " "));
    if (runs[at].commit) parts.push(`commit ${runs[at].commit}`);
    for (const change of changes) if (change.at === at) parts.push(`${change.verdict} ${relative(change.relative)}`);
    for (const one of spec.environment) if (one.at === at) parts.push(one.text);
    caption.textContent = parts.join(" · ");
    svg.setAttribute("aria-valuenow", String(at));
    svg.setAttribute("aria-valuetext", parts.join(", "));
  };

  const draw = () => {
    const width = Math.max(figure.clientWidth - 22, 200);
    const height = width < 500 ? 170 : 200;
    const top = 32, bottom = 22, right = 12;
    const y = (value) => height - bottom - (height - bottom - top) * (value - low) / (high - low);
    const ticks = yTicks(measured, low, high, y);
    const labels = distinctTexts(name, ticks);
    const left = Math.max(48, Math.ceil(Math.max(...labels.map((label) => label.length)) * 6.8) + 12);
    const span = times[last] - times[0];
    const x = (i) => span > 0 ? left + (width - left - right) * (times[i] - times[0]) / span : (left + width - right) / 2;
    geometry = { x, y };
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", height);
    if (spec.window && name === "estimate_ratio") {
      const [from, to] = spec.window;
      svg.append(shape("rect", { x: left, y: y(to), width: width - left - right, height: Math.max(y(from) - y(to), 1), fill: "var(--fill)" }));
    }
    ticks.forEach((tick, i) => {
      svg.append(shape("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), stroke: "var(--line)" }));
      svg.append(shape("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, labels[i]));
    });
    const marks = last === 0 ? [0] : width < 500 ? [0, last] : [0, Math.round(last / 3), Math.round(2 * last / 3), last];
    new Set(marks).forEach((i) => {
      const anchor = last === 0 ? "middle" : i === 0 ? "start" : i === last ? "end" : "middle";
      svg.append(shape("text", { x: x(i), y: height - 5, "text-anchor": anchor }, runs[i].date.slice(0, 10)));
    });
    // Environment changes: dashed lines, with a label if it fits.
    let free = 0;
    for (const one of spec.environment) {
      const line = shape("line", { class: "environment", x1: x(one.at), x2: x(one.at), y1: 16, y2: height - bottom, stroke: "var(--quiet)", "stroke-dasharray": "2 4" });
      line.append(shape("title", {}, `${runs[one.at].date.slice(0, 10)}: ${one.text}`));
      svg.append(line);
      const long = one.text.length > 28 ? `${one.text.slice(0, 13)}…${one.text.slice(-14)}` : one.text;
      const wide = long.length * 6.4;
      const from = Math.min(x(one.at) + 3, width - right - wide);
      if (from >= free) {
        svg.append(shape("text", { x: from, y: 13 }, long));
        free = from + wide + 8;
      }
    }
    let path = "", points = shape("g", { fill: "var(--accent)" }), open = false;
    values.forEach((value, i) => {
      if (value === null) { open = false; return; }
      const px = x(i).toFixed(1), py = y(value).toFixed(1);
      path += !open ? `M${px} ${py}` : metric(name).exact ? `H${px}V${py}` : `L${px} ${py}`;
      const alone = (i === 0 || values[i - 1] === null) && (i === last || values[i + 1] === null);
      if (alone) points.append(shape("circle", { cx: px, cy: py, r: 2 }));
      open = true;
    });
    svg.append(shape("path", { d: path, fill: "none", stroke: "var(--accent)", "stroke-width": 1.4, "stroke-linejoin": "round" }), points);
    spec.outcomes.forEach((outcome, i) => {
      if (outcome === null || outcome === "ok") return;
      const px = x(i), py = height - bottom - 5;
      const cross = shape("path", { d: `M${px - 3} ${py - 3}L${px + 3} ${py + 3}M${px - 3} ${py + 3}L${px + 3} ${py - 3}`, stroke: "var(--bad)", "stroke-width": 1.6 });
      cross.append(shape("title", {}, `${runs[i].date.slice(0, 10)}: ${outcome.replaceAll("_", " ")}`));
      svg.append(cross);
    });
    const taken = [];
    // The newest first: if two labels overlap, the newest is kept.
    for (const change of [...changes].reverse()) {
      const colour = `var(${(!change.resolution && kMarkColours[change.verdict]) || "--quiet"})`;
      const px = x(change.at);
      const line = shape("line", { class: "change", x1: px, x2: px, y1: top - 4, y2: height - bottom, stroke: colour, "stroke-width": 1.4 });
      line.append(shape("title", {}, `${change.date}: ${change.verdict} ${relative(change.relative)}`));
      const label = relative(change.relative);
      svg.append(line);
      const wide = label.length * 6.6 + 6;
      const from = [px, px - wide - 3].find((one) => one >= left && one + wide <= width - 2 && taken.every((other) => one + wide <= other || one >= other + wide));
      if (from !== undefined) {
        taken.push(from);
        const words = shape("text", { x: from + 4, y: top + 6 }, label);
        words.style.fill = colour;
        svg.append(words);
      }
      if (values[change.at] !== null) svg.append(shape("circle", { cx: px, cy: y(values[change.at]), r: 4, fill: colour }));
    }
    cursor.setAttribute("y1", top - 4); cursor.setAttribute("y2", height - bottom);
    svg.append(cursor, dot);
    describe();
  };
  const walk = {
    at: last,
    last,
    describe,
    nearest: (px) => {
      let best = 0;
      for (let i = 1; i <= last; ++i) if (Math.abs(geometry.x(i) - px) < Math.abs(geometry.x(best) - px)) best = i;
      return best;
    },
    jumps: { c: () => changes.length === 0 ? null : (changes.find((change) => change.at > walk.at) || changes[0]).at },
  };
  while (walk.at > 0 && values[walk.at] === null) --walk.at;
  walkable(svg, walk);
  drawnToWidth(figure, draw);
  return figure;
}
