// ---- the data of the page, and values as text ----

// `states`, `devices` (each of one branch) and `columns` of rows. Runs, rows and series are in data/*.js.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

/** A commit, linked if the addresses of commits are known. */
function commit_text(commit) {
  const hash = commit.replace("+", "");
  if (!data.commit_url || !/^[0-9a-f]+$/i.test(hash)) return commit;
  return element("a", { href: data.commit_url.replace("{commit}", hash) }, commit);
}
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
const many = (count) => count.toLocaleString("en");
const outcome_text = (outcome) => (outcome || "not planned").replaceAll("_", " ");

/** Returns the columns of measured values; that of the throughput only if a row has one. */
function measured_columns(rows) {
  const columns = [
    { key: "peak", title: "Peak", value: (row) => row.peak, cell: (row) => valueText("requested_peak_bytes", row.peak), kind: "number less" },
    { key: "time", title: "Time", value: (row) => row.time, cell: (row) => valueText("gpu_time_ns", row.time), kind: "number less" },
    { key: "throughput", title: "GB/s", value: (row) => row.throughput, cell: (row) => row.throughput === null ? "–" : Number((row.throughput / 1e9).toPrecision(4)).toString(), kind: "number less" },
    { key: "ratio", title: "Peak / estimate", value: (row) => row.ratio, cell: (row) => valueText("estimate_ratio", row.ratio), kind: "number less" },
  ];
  return columns.filter(({ key }) => key !== "throughput" || rows.some((row) => row.throughput !== null));
}
