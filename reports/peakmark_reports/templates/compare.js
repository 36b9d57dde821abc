// ---- two runs of a device, side by side ----

const comparison = { rows: [], device: null, before: 0, after: 0 };

function step_text(name, before, after) {
  if (before === null || after === null) return "–";
  if (before === after) return "same";
  const bytes = name.endsWith("_bytes") ? `${after > before ? "+" : "−"}${exact_text(name, Math.abs(after - before))}, ` : "";
  return `${bytes}${relative(before === 0 ? null : after / before - 1)}`;
}
/** The size of a change, for sorting: null if a side was not measured. */
function step_size(before, after) {
  if (before === null || after === null) return null;
  return before === after ? 0 : before === 0 ? Infinity : Math.abs(after / before - 1);
}
const side_text = (name, side, value) => value === null && side.outcome !== "ok" ? outcome_text(side.outcome) : valueText(name, value);

const compareTable = paged_table({
  name: "compare",
  columns: () => [
    { key: "name", title: "Case", value: (row) => row.lower, cell: (row) => element("a", { class: "case", href: permalink(row) }, row.name), kind: "words", isText: true },
    ...[["peak", "Peak", "requested_peak_bytes"], ["time", "Time", "gpu_time_ns"]].flatMap(([key, title, name]) => [
      { key: `${key}-before`, title: `${title} before`, value: (row) => row.before[key], cell: (row) => side_text(name, row.before, row.before[key]), kind: "number less" },
      { key: `${key}-after`, title: `${title} after`, value: (row) => row.after[key], cell: (row) => side_text(name, row.after, row.after[key]), kind: "number less" },
      { key: `${key}-change`, title: `${title} change`, value: (row) => step_size(row.before[key], row.after[key]), cell: (row) => step_text(name, row.before[key], row.after[key]), kind: "number" },
    ]),
  ],
  after: () => null,
  changed: () => remember_comparison(),
});

function side(one, at) {
  const value = (name) => one.series[name] === undefined ? null : unpacked_at(one.series[name], at);
  return { outcome: unpacked_at({ values: one.outcomes, unit: 1 }, at), peak: value("requested_peak_bytes"), time: value("gpu_time_ns") };
}

/** Returns a row for each case that one of the runs planned: other outcomes first, then the largest changes of bytes and of time. */
async function compared_rows(device, before, after) {
  const numbers = [...new Set(device.rows.map((row) => row.chunk))];
  const loaded = new Map();
  await Promise.all(numbers.map(async (number) => {
    loaded.set(number, await load_cases(number));
    compareTable.report(`Loading: ${many(loaded.size)} of ${many(numbers.length)} files`);
  }));
  const rows = device.rows.map((row) => {
    const one = loaded.get(row.chunk)[row.place];
    return { name: row.name, lower: row.lower, device: row.device, before: side(one, before), after: side(one, after) };
  }).filter((row) => row.before.outcome !== null || row.after.outcome !== null);
  const rank = (row) => [row.before.outcome === row.after.outcome ? 1 : 0, -(step_size(row.before.peak, row.after.peak) ?? 0), -Math.abs((row.after.peak ?? 0) - (row.before.peak ?? 0)), -(step_size(row.before.time, row.after.time) ?? 0)];
  const ranked = rows.map((row) => [rank(row), row]);
  ranked.sort(([a], [b]) => { const i = a.findIndex((value, k) => value !== b[k]); return i < 0 ? 0 : a[i] - b[i]; });
  return ranked.map(([, row]) => row);
}

function show_comparison() {
  compareTable.show(comparison.rows.filter(word_filter(byId("compare-words").value)), comparison.rows.length);
  const grown = comparison.rows.filter((row) => row.before.peak !== null && row.after.peak !== null && row.before.peak !== row.after.peak).length;
  const ended = comparison.rows.filter((row) => row.before.outcome !== row.after.outcome).length;
  const { device, before, after } = comparison;
  compareTable.report(`${device.name}, ${run_text(device, before)} → ${run_text(device, after)}. ${byId("compare-count").textContent}; ${grown === 0 ? "none" : many(grown)} with other bytes, ${ended === 0 ? "none" : many(ended)} with another outcome.`);
}

function run_text(device, at) {
  const run = device.runs[at];
  const suites = new Set(device.runs.map((one) => one.suite));
  return [run.date.slice(0, 16).replace("T", " "), run.commit, suites.size > 1 ? run.suite : "", hasBranches ? run.branch : ""].filter((text) => text !== "").join(", ");
}

/** Lists the runs of the chosen device, newest first; chooses the newest and the one before it of its suite. */
async function list_runs() {
  const device = await load_device(Number(byId("compare-device").value));
  const last = device.runs.length - 1;
  const entries = device.runs.map((_run, at) => [String(at), run_text(device, at)]).reverse();
  for (const id of ["compare-before", "compare-after"]) set_options(byId(id), entries);
  let before = last - 1;
  while (before > 0 && device.runs[before].suite !== device.runs[last].suite) --before;
  byId("compare-after").value = String(last);
  byId("compare-before").value = String(Math.max(before, 0));
  return device;
}

const comparison_address = () => {
  const { device, before, after } = comparison;
  const wanted = { compare: `${device.runs[before].id}..${device.runs[after].id}` };
  if (byId("compare-words").value !== "") wanted.words = byId("compare-words").value;
  if (compareTable.sort !== "") wanted.sort = compareTable.sort;
  return address(device.number, wanted);
};
const remember_comparison = () => history.replaceState(null, "", comparison_address());

async function compare_chosen() {
  try {
    const device = await load_device(Number(byId("compare-device").value));
    const [before, after] = ["compare-before", "compare-after"].map((id) => Number(byId(id).value));
    const rows = await compared_rows(device, before, after);
    Object.assign(comparison, { rows, device, before, after });
    byId("compare-result").hidden = false;
    show_comparison();
    remember_comparison();
  } catch (error) { compareTable.report(error.message); }
}

/** Compares the runs of an address. */
async function follow_comparison(wanted) {
  byId("compare-runs").scrollIntoView();
  try {
    const numbers = named_devices(wanted);
    byId("compare-device").value = String(numbers[0] ?? 0);
    const device = await list_runs();
    byId("compare-words").value = wanted.get("words") ?? "";
    compareTable.sort = wanted.get("sort") ?? "";
    const ids = wanted.get("compare").split("..");
    const places = ids.map((id) => device.runs.findIndex((run) => run.id === id));
    const missing = ids.find((_id, i) => places[i] < 0);
    if (numbers.length === 0 || ids.length !== 2 || missing !== undefined) {
      compareTable.report(`No run ${missing ?? ""} of ${wanted.get("device") ?? "this device"} in this report.`);
      return;
    }
    byId("compare-before").value = String(places[0]);
    byId("compare-after").value = String(places[1]);
    await compare_chosen();
    byId("compare-runs").scrollIntoView();
  } catch (error) { compareTable.report(error.message); }
}
