// ---- the list of all cases ----

const stateOrder = new Map(data.states.map(([state], i) => [state, i]));
const stateName = new Map(data.states);
const kAllDevices = "all";
const list = { rows: [], open: null, device: null };  // `device`: the value of the selection whose rows are here

function caseColumns() {
  const several = byId("device").value === kAllDevices;
  const columns = [
    { key: "name", title: "Case", value: (row) => row.lower, cell: case_link, kind: "words", isText: true },
    { key: "device", title: "Device", value: (row) => data.devices[row.device].name, cell: (row) => data.devices[row.device].name, kind: "words less", isText: true },
    { key: "state", title: "State", value: (row) => stateOrder.get(row.state), cell: (row) => element("span", { class: `badge ${row.state}` }, stateName.get(row.state)), kind: "", isText: true },
    { key: "change", title: "Change", value: (row) => row.change === null ? null : Math.abs(row.change), cell: (row) => row.state_metric ? `${relative(row.change)} ${metric(row.state_metric).title.toLowerCase()}` : "–", kind: "number" },
    ...measured_columns(list.rows),
    { key: "outcome", title: "Newest run", value: (row) => row.outcome, cell: (row) => outcome_text(row.outcome), kind: "less", isText: true },
  ];
  return columns.filter(({ key }) => key !== "device" || several);
}
const caseTable = paged_table({
  name: "cases",
  columns: caseColumns,
  after: (row) => list.open === row ? detail(row, caseColumns().length) : null,
  changed: () => remember_cases(),
});

/** A link, so that its address can be copied. */
function case_link(row) {
  const link = element("a", { class: "open case", href: permalink(row), "aria-expanded": String(list.open === row) }, row.name);
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    toggle(row, link);
  });
  return link;
}

function toggle(row, link) {
  const line = link.closest("tr");
  const opened = link.getAttribute("aria-expanded") === "true";
  link.setAttribute("aria-expanded", String(!opened));
  if (opened) { line.nextSibling.remove(); list.open = null; }
  else { line.after(detail(row, caseColumns().length)); list.open = row; }
  remember_cases();
}

/** Puts case, filters and sort order into the address. */
function remember_cases() {
  const wanted = new URLSearchParams(list.open ? { case: list.open.name } : {});
  for (const id of ["words", "state", "operation"]) if (byId(id).value !== "") wanted.set(id, byId(id).value);
  if (caseTable.sort !== "") wanted.set("sort", caseTable.sort);
  const chosen = list.open ? String(list.open.device) : byId("device").value;
  if (chosen === kAllDevices) wanted.set("device", kAllDevices);
  const isDefault = wanted.size === 0 && chosen === "0";
  const fragment = chosen === kAllDevices ? `#${wanted}` : address(Number(chosen), wanted);
  history.replaceState(null, "", isDefault ? location.href.split("#")[0] : fragment);
}

/** Loads the rows of the chosen device. Returns false if another one was chosen meanwhile. */
async function load_rows() {
  const chosen = byId("device").value;
  if (list.device === chosen) return true;
  const numbers = chosen === kAllDevices ? data.devices.map((device) => device.number) : [Number(chosen)];
  caseTable.report("Loading…");
  const loaded = await Promise.all(numbers.map(load_device));
  if (byId("device").value !== chosen) return false;
  list.device = chosen;
  list.rows = loaded.flatMap((device) => device.rows);
  // The rows of each device are in this order.
  if (loaded.length > 1) list.rows.sort((a, b) => stateOrder.get(a.state) - stateOrder.get(b.state) || Math.abs(b.change ?? 0) - Math.abs(a.change ?? 0) || (b.peak ?? 0) - (a.peak ?? 0));
  const used = new Set(list.rows.map((row) => row.state));
  set_options(byId("state"), [["", "all states"], ["attention", "needs attention"], ...data.states.filter(([state]) => used.has(state))]);
  set_options(byId("operation"), [["", "all operations"], ...[...new Set(list.rows.map((row) => row.operation))].sort().map((name) => [name, name])]);
  return true;
}

function chosen_rows() {
  const has_words = word_filter(byId("words").value);
  const state = byId("state").value, operation = byId("operation").value;
  return list.rows.filter((row) => has_words(row)
    && (state === "" || (state === "attention" ? data.attention.includes(row.state) : row.state === state))
    && (operation === "" || row.operation === operation));
}
const show_rows = () => caseTable.show(chosen_rows(), list.rows.length, list.open);

async function filter_cases() {
  list.open = null;
  try {
    if (await load_rows()) show_rows();
  } catch (error) { caseTable.report(error.message); }
}

/** Returns the numbers of the devices that an address names; all if it names none. */
function named_devices(wanted) {
  const label = wanted.get("device") ?? wanted.get("only"), branch = wanted.get("branch");
  return data.devices.filter((device) => (label === null || device.label === label) && (branch === null || device.branch === branch)).map((device) => device.number);
}

/** Shows the case of an address: on the first of its devices that has it. */
async function open_case(name, numbers) {
  for (const number of numbers) {
    const row = (await load_device(number)).rows.find((one) => one.name === name);
    if (!row) continue;
    byId("device").value = String(number);
    if (!await load_rows()) return;
    if (!chosen_rows().includes(row)) for (const id of ["words", "state", "operation"]) byId(id).value = "";
    list.open = row;
    show_rows();
    const link = byId("cases").querySelector("a.open[aria-expanded=true]");
    link.scrollIntoView({ block: "start" });
    link.focus({ preventScroll: true });
    return;
  }
  if (await load_rows()) show_rows();
  caseTable.report(`No case ${name} in this report. ${byId("cases-count").textContent}`);
  byId("every").scrollIntoView();
}

/** Restores case, filters and sort order from the address. */
async function follow_cases(wanted) {
  const numbers = named_devices(wanted);
  list.open = null;
  byId("words").value = wanted.get("words") ?? "";
  byId("device").value = wanted.get("device") === kAllDevices ? kAllDevices : String(numbers[0] ?? 0);
  if (byId("device").selectedIndex < 0) byId("device").selectedIndex = 0;
  caseTable.sort = wanted.get("sort") ?? "";
  try {
    if (!await load_rows()) return;
    for (const id of ["state", "operation"]) {
      byId(id).value = wanted.get(id) ?? "";
      if (byId(id).selectedIndex < 0) byId(id).value = "";
    }
    if (wanted.has("case")) return await open_case(wanted.get("case"), numbers);
    show_rows();
    if (numbers.length === 0) caseTable.report(`No such device in this report. ${byId("cases-count").textContent}`);
    byId("every").scrollIntoView();
  } catch (error) { caseTable.report(error.message); }
}
