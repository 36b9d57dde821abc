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
    const item = element("li", {}, element("span", { class: `badge ${change.resolution ? "" : change.verdict}` }, change.verdict), ` ${change.date}: ${metric(change.metric).title.toLowerCase()} ${change.levels}`);
    if (change.new) item.append(" – new since the previous run");
    if (change.resolution) item.append(` – ${change.resolution}`);
    if (change.allocations.length > 0) item.append(element("ul", {}, ...change.allocations.map((one) => element("li", {}, one))));
    list.append(item);
  }
  return list;
}

/** The address of a device and what of it is shown; names, so that a link stays valid when the numbers of devices change. */
function address(number, more) {
  const wanted = new URLSearchParams(more);
  wanted.set("device", data.devices[number].label);
  if (data.devices[number].branch) wanted.set("branch", data.devices[number].branch);
  return `#${wanted}`;
}
const permalink = (row) => address(row.device, { case: row.name });

/** A button that copies the address of a part of this page, and puts it into the address bar. */
function copy_button(fragment) {
  const button = element("button", { type: "button" }, "Copy link");
  button.addEventListener("click", () => {
    history.replaceState(null, "", fragment());
    const said = () => { button.textContent = "The link is in the address bar"; };
    if (navigator.clipboard) navigator.clipboard.writeText(location.href).then(() => { button.textContent = "Copied"; }, said);
    else said();
  });
  return button;
}

function detail(row, columns) {
  const box = element("div", { class: "box" }, element("p", { class: "quiet" }, "Loading…"));
  Promise.all([load_device(row.device), load_cases(row.chunk)]).then(([device, cases]) => {
    const one = cases[row.place];
    const series = Object.fromEntries(Object.entries(one.series).map(([name, packed]) => [name, unpacked(packed)]));
    const outcomes = unpacked({ values: one.outcomes, unit: 1 });
    const axes = Object.entries(one.axes).map(([name, value]) => `${name} ${value}`).join(", ");
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
      changeList(row, device.runs), charts, element("div", { class: "actions" }, copy_button(() => permalink(row))),
      valueTable(series, outcomes, device.runs)].filter((child) => child !== null));
  }, (error) => { box.replaceChildren(element("p", { class: "warning", role: "alert" }, error.message)); });
  return element("tr", { class: "detail" }, element("td", { colspan: String(columns) }, box));
}
