// The data of the page: `states`, `devices` with their runs, `columns` of rows. The series of cases are in data/*.js.
const data = JSON.parse(document.getElementById("data").textContent);

/** A commit, linked if the addresses of commits are known. */
function commit_text(commit) {
  const hash = commit.replace("+", "");
  if (!data.commit_url || !/^[0-9a-f]+$/i.test(hash)) return commit;
  return element("a", { href: data.commit_url.replace("{commit}", hash) }, commit);
}
const kPage = 100;  // rows shown at first, and added by "Show more"
const view = document.getElementById("cases-view");
const byId = (id) => document.getElementById(id);

function time(ns, digits = 4) {
  for (const [name, scale] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (ns >= scale) return `${Number((ns / scale).toPrecision(digits))} ${name}`;
  }
  return `${Number(ns.toPrecision(digits))} ns`;
}
const metrics = {
  requested_peak_bytes: { title: "Peak", text: size, exact: true },
  gpu_time_ns: { title: "Time", text: time, exact: false },
  estimate_ratio: { title: "Peak / estimate", text: (value, digits = 4) => String(Number(value.toPrecision(digits))), exact: true },
  setup_bytes: { title: "Setup", text: size, exact: true },
  leaked_bytes: { title: "Leak", text: size, exact: true },
};
const metric = (name) => metrics[name] || { title: name.replaceAll("_", " "), text: (value) => String(value), exact: true };
const valueText = (name, value) => value === null || value === undefined ? "–" : metric(name).text(value);
function exact_text(name, value) {
  const short = valueText(name, value);
  return value !== null && name.endsWith("_bytes") && Math.abs(value) >= 1024 ? `${short} (${value.toLocaleString("en")} B)` : short;
}
function relative(value) {
  if (value === null) return "from 0";
  const percent = 100 * value;
  const text = percent !== 0 && Math.abs(percent) < 0.05 ? Number(percent.toPrecision(1)).toString() : percent.toFixed(1);
  return `${percent > 0 ? "+" : ""}${text} %`.replace("-", "−");
}

// ---- series, in separate files: a page from disk may load scripts, but no data ----

const chunks = new Map();
window.peakmarkCases = (number, cases) => { chunks.get(number).resolve(cases); };
function chunk(number) {
  if (!chunks.has(number)) {
    const entry = {};
    entry.promise = new Promise((resolve, reject) => { entry.resolve = resolve; entry.reject = reject; });
    chunks.set(number, entry);
    const name = `data/cases-${number}.js`;
    const script = element("script", { src: name, charset: "utf-8" });
    script.addEventListener("error", () => {
      chunks.delete(number);
      entry.reject(new Error(`${name} cannot be read: it belongs to this page; keep the folder together.`));
    });
    document.head.append(script);
  }
  return chunks.get(number).promise;
}
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
// Two letters encode a value: its distance above `least`, from 1 on; "AA" is a gap.
function lettered(packed) {
  return Array.from({ length: packed.letters.length / 2 }, (_, i) => {
    const number = LETTERS.indexOf(packed.letters[2 * i]) * 64 + LETTERS.indexOf(packed.letters[2 * i + 1]);
    return number === 0 ? null : packed.least - 1 + number;
  });
}
// [count, value] repeats a value; `unit` is the unit of the numbers.
function unpacked(packed) {
  const values = packed.letters === undefined ? [] : lettered(packed);
  for (const one of packed.values || []) {
    if (Array.isArray(one)) for (let i = 0; i < one[0]; ++i) values.push(one[1]);
    else values.push(one);
  }
  return packed.unit === 1 ? values : values.map((value) => value === null ? null : value * packed.unit);
}

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
      line.append(shape("title", {}, `${runs[change.at].date.slice(0, 10)}: ${change.verdict} ${relative(change.relative)}`));
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

// ---- one case ----

function valueTable(series, outcomes, runs) {
  const names = Object.keys(series);
  const details = element("details", {}, element("summary", {}, "All runs as a table"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    const head = element("tr", {}, element("th", { scope: "col" }, "Run"), element("th", { scope: "col" }, "Commit"), element("th", { scope: "col" }, "Outcome"),
      ...names.map((name) => element("th", { scope: "col", class: "number" }, metric(name).title)));
    const body = element("tbody");
    for (let i = runs.length - 1; i >= 0; --i) {
      if (outcomes[i] === null) continue;
      body.append(element("tr", {}, element("th", { scope: "row" }, runs[i].date.slice(0, 16).replace("T", " ")), element("td", {}, commit_text(runs[i].commit)),
        element("td", {}, outcomes[i].replaceAll("_", " ")), ...names.map((name) => element("td", { class: "number" }, exact_text(name, series[name][i])))));
    }
    details.append(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "All runs" }, element("table", {}, element("thead", {}, head), body)));
  });
  return details;
}

function changeList(row, runs) {
  if (row.changes.length === 0) return null;
  const list = element("ul");
  for (const change of [...row.changes].reverse()) {  // the newest first
    const item = element("li", {}, element("span", { class: `badge ${change.resolution ? "" : change.verdict}` }, change.verdict), ` ${runs[change.at].date.slice(0, 10)}: ${metric(change.metric).title.toLowerCase()} ${change.levels} (${relative(change.relative)})`);
    if (change.new) item.append(" – new since the previous run");
    if (change.resolution) item.append(` – ${change.resolution}`);
    if (change.allocations.length > 0) item.append(element("ul", {}, ...change.allocations.map((one) => element("li", {}, one))));
    list.append(item);
  }
  return list;
}

function permalink(row) {
  const wanted = new URLSearchParams({ case: row.name });
  if (data.devices.length > 1) wanted.set("device", data.devices[row.device].label);
  return `#${wanted}`;
}

function detail(row) {
  const device = data.devices[row.device];
  const box = element("div", { class: "box" }, element("p", { class: "quiet" }, "Loading…"));
  chunk(row.chunk).then((cases) => {
    const one = cases[row.place];
    const series = Object.fromEntries(Object.entries(one.series).map(([name, packed]) => [name, unpacked(packed)]));
    const outcomes = unpacked({ values: one.outcomes, unit: 1 });
    const axes = Object.entries(one.axes).map(([name, value]) => `${name} ${value}`).join(", ");
    const link = element("button", { type: "button" }, "Copy link");
    link.addEventListener("click", () => {
      const address = `${location.href.split("#")[0]}${permalink(row)}`;
      history.replaceState(null, "", permalink(row));
      const said = () => { link.textContent = "The link is in the address bar"; };
      if (navigator.clipboard) navigator.clipboard.writeText(address).then(() => { link.textContent = "Copied"; }, said);
      else said();
    });
    const charts = element("div", { class: "charts" });
    for (const [name, values] of Object.entries(series)) {
      // Omits setup and leaks that are always 0.
      if (name === "setup_bytes" || name === "leaked_bytes") if (values.every((value) => value === null || value === 0)) continue;
      charts.append(chart({ name, values, runs: device.runs, environment: device.environment, changes: row.changes, outcomes, window: row.window }));
    }
    if (charts.children.length === 0) charts.append(element("p", {}, "Never measured."));
    box.replaceChildren(...[
      element("p", {}, axes || "No axes."),
      row.reasons.length > 0 ? element("p", {}, row.reasons.join("; ")) : null,
      changeList(row, device.runs), charts, element("div", { class: "actions" }, link),
      valueTable(series, outcomes, device.runs)].filter((child) => child !== null));
  }, (error) => { box.replaceChildren(element("p", { class: "warning", role: "alert" }, error.message)); });
  return element("tr", { class: "detail" }, element("td", { colspan: String(columns().length) }, box));
}

// ---- the list of all cases ----

const rows = data.rows.map((values, order) => {
  const row = Object.fromEntries(data.columns.map((name, i) => [name, values[i]]));
  return { ...row, order, lower: row.name.toLowerCase(), changes: row.changes || [], reasons: row.reasons || [] };
});
const stateOrder = new Map(data.states.map(([state], i) => [state, i]));
const stateName = new Map(data.states);
const several = data.devices.length > 1;
const shown = { sort: "", down: false, most: kPage, open: null };

// [key, title, sort key, cell, class: "less" is hidden on phones]
function columns() {
  return [
    ["name", "Case", (row) => row.lower, null, "words"],
    ...(several ? [["device", "Device", (row) => data.devices[row.device].label, (row) => data.devices[row.device].label, "words less"]] : []),
    ["state", "State", (row) => stateOrder.get(row.state), (row) => element("span", { class: `badge ${row.state}` }, stateName.get(row.state)), ""],
    ["change", "Change", (row) => row.change === null ? null : Math.abs(row.change), (row) => row.state_metric ? `${relative(row.change)} ${metric(row.state_metric).title.toLowerCase()}` : "–", "number"],
    ["peak", "Peak", (row) => row.peak, (row) => valueText("requested_peak_bytes", row.peak), "number less"],
    ["time", "Time", (row) => row.time, (row) => valueText("gpu_time_ns", row.time), "number less"],
    ...(rows.some((row) => row.throughput !== null)
      ? [["throughput", "GB/s", (row) => row.throughput, (row) => row.throughput === null ? "–" : Number((row.throughput / 1e9).toPrecision(4)).toString(), "number less"]] : []),
    ["ratio", "Peak / estimate", (row) => row.ratio, (row) => valueText("estimate_ratio", row.ratio), "number less"],
    ["outcome", "Newest run", (row) => row.outcome, (row) => (row.outcome || "not planned").replaceAll("_", " "), "less"],
  ];
}

function chosenRows() {
  const words = byId("words").value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const state = byId("state").value, operation = byId("operation").value, device = byId("device").value;
  const chosen = rows.filter((row) => words.every((word) => row.lower.includes(word))
    && (state === "" || (state === "attention" ? data.attention.includes(row.state) : row.state === state))
    && (operation === "" || row.operation === operation) && (device === "" || data.devices[row.device].label === device));
  const column = columns().find(([key]) => key === shown.sort);
  if (!column) return chosen;
  const value = column[2];
  const sign = shown.down ? -1 : 1;
  // Unknown values are last in both sort orders.
  return chosen.sort((a, b) => {
    const left = value(a), right = value(b);
    if (left === null || right === null) return (left === null) - (right === null) || a.order - b.order;
    return (left < right ? -sign : left > right ? sign : 0) || a.order - b.order;
  });
}

function remember() {
  const wanted = new URLSearchParams();
  if (shown.open) new URLSearchParams(permalink(shown.open).slice(1)).forEach((value, key) => wanted.set(key, value));
  for (const id of ["words", "state", "operation"]) if (byId(id).value !== "") wanted.set(id, byId(id).value);
  if (byId("device").value !== "") wanted.set("only", byId("device").value);
  if (shown.sort !== "") wanted.set("sort", `${shown.sort}${shown.down ? "-down" : ""}`);
  history.replaceState(null, "", wanted.size === 0 ? location.href.split("#")[0] : `#${wanted}`);
}

function head() {
  const line = element("tr");
  for (const [key, title, , , kind] of columns()) {
    const button = element("button", { type: "button" }, title);
    button.addEventListener("click", () => {
      // Numbers sort largest first, text from a to z; a third click restores the order of the page.
      const first = !["name", "device", "state", "outcome"].includes(key);
      if (shown.sort !== key) { shown.sort = key; shown.down = first; }
      else if (shown.down === first) shown.down = !first;
      else shown.sort = "";
      fill();
      remember();
    });
    const cell = element("th", { scope: "col", class: kind, "data-key": key }, button);
    line.append(cell);
  }
  byId("cases").tHead.append(line);
}

function toggle(row, line, link) {
  const opened = link.getAttribute("aria-expanded") === "true";
  link.setAttribute("aria-expanded", String(!opened));
  if (opened) { line.nextSibling.remove(); shown.open = null; }
  else { line.after(detail(row)); shown.open = row; }
  remember();
}

function fill() {
  const chosen = chosenRows();
  const body = byId("cases").tBodies[0];
  const cells = columns();
  const lines = [];
  for (const row of chosen.slice(0, shown.most)) {
    const isOpen = shown.open === row;
    // A link, so that its address can be copied.
    const link = element("a", { class: "open case", href: permalink(row), "aria-expanded": String(isOpen) }, row.name);
    const line = element("tr", {}, element("th", { scope: "row", class: "words" }, link));
    for (const [, , , cell, kind] of cells.slice(1)) line.append(element("td", { class: kind }, cell(row)));
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      toggle(row, line, link);
    });
    lines.push(line);
    if (isOpen) lines.push(detail(row));
  }
  body.replaceChildren(...lines);
  for (const cell of byId("cases").tHead.rows[0].cells) {
    if (cell.dataset.key === shown.sort) cell.setAttribute("aria-sort", shown.down ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  }
  const many = (count) => count.toLocaleString("en");
  const least = Math.min(shown.most, chosen.length);
  byId("count").textContent = `${chosen.length === rows.length ? `${many(rows.length)} case${rows.length === 1 ? "" : "s"}` : `${many(chosen.length)} of ${many(rows.length)} cases`}${least < chosen.length ? `, the first ${many(least)} shown` : ""}`;
  const more = byId("more");
  more.replaceChildren();
  if (least < chosen.length) {
    for (const [text, most] of [[`Show ${Math.min(kPage, chosen.length - least)} more`, shown.most + kPage], [`Show all ${many(chosen.length)}`, Infinity]]) {
      const button = element("button", { type: "button" }, text);
      button.addEventListener("click", () => {
        shown.most = most;
        fill();
        byId("cases").tBodies[0].querySelectorAll("a.open")[least]?.focus();
      });
      more.append(button);
    }
  }
}

function options(select, all, entries) {
  select.replaceChildren(element("option", { value: "" }, all), ...entries.map(([value, text]) => element("option", { value }, text)));
}

// Restores case, filters and sort order from the address.
function follow() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const known = ["case", "words", "state", "operation", "only", "sort"];
  if (!known.some((key) => wanted.has(key))) return;
  const choose = (id, value) => {
    const select = byId(id);
    select.value = value ?? "";
    if (select.value !== (value ?? "")) select.value = "";
  };
  byId("words").value = wanted.get("words") ?? "";
  choose("state", wanted.get("state"));
  choose("operation", wanted.get("operation"));
  choose("device", wanted.get("only"));
  const sort = wanted.get("sort") ?? "";
  shown.down = sort.endsWith("-down");
  shown.sort = shown.down ? sort.slice(0, -5) : sort;
  shown.open = null;
  shown.most = kPage;
  const name = wanted.get("case");
  if (name !== null) {
    const device = wanted.get("device");
    const found = rows.find((row) => row.name === name && (device === null || data.devices[row.device].label === device));
    if (!found) {
      fill();
      byId("count").textContent = `No case ${name} in this report. ${byId("count").textContent}`;
      byId("every").scrollIntoView();
      return;
    }
    if (!chosenRows().includes(found)) for (const id of ["words", "state", "operation", "device"]) byId(id).value = "";
    shown.open = found;
    shown.most = Math.max(kPage, chosenRows().indexOf(found) + 1);
    fill();
    const link = byId("cases").tBodies[0].querySelector("a.open[aria-expanded=true]");
    link.scrollIntoView({ block: "start" });
    link.focus({ preventScroll: true });
    return;
  }
  fill();
}

view.hidden = false;
const used = new Set(rows.map((row) => row.state));
options(byId("state"), "all states", [["attention", "needs attention"], ...data.states.filter(([state]) => used.has(state))]);
options(byId("operation"), "all operations", [...new Set(rows.map((row) => row.operation))].sort().map((name) => [name, name]));
options(byId("device"), "all devices", data.devices.map((device) => [device.label, device.label]));
byId("device-label").hidden = !several;
head();
fill();
follow();
byId("filters").addEventListener("input", () => { shown.most = kPage; shown.open = null; fill(); remember(); });
byId("filters").addEventListener("reset", () => setTimeout(() => { shown.most = kPage; shown.open = null; shown.sort = ""; fill(); remember(); }));
byId("filters").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("hashchange", follow);
