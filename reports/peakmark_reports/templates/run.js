// ---- the cases of a run ----

const rows = data.rows.map((values) => {
  const row = Object.fromEntries(data.columns.map((name, i) => [name, values[i]]));
  return { ...row, lower: row.name.toLowerCase() };
});
const judgementOrder = new Map(Object.keys(data.judgements).map((name, i) => [name, i]));
const stateOrder = new Map(Object.keys(data.states).map((name, i) => [name, i]));
const known = (names, name) => names[name] ?? [name, ""];

function judgement_cell(row) {
  const [text, badge] = known(data.judgements, row.judgement);
  return element("span", {}, element("span", { class: `badge ${badge}` }, text), row.reason === "" ? null : ` ${row.reason.replaceAll("_", " ")}`);
}
function difference_cell(row) {
  if (row.difference === null) return "–";
  const [text, badge] = known(data.states, row.difference);
  return element("span", { class: `badge ${badge}` }, text);
}

const isCompared = rows.some((row) => row.difference !== null);
const runTable = paged_table({
  name: "cases",
  columns: () => [
    { key: "name", title: "Case", value: (row) => row.lower, cell: (row) => element("span", { class: "case" }, row.name), kind: "words", isText: true },
    { key: "judgement", title: "Verdict", value: (row) => judgementOrder.get(row.judgement) ?? null, cell: judgement_cell, kind: "words", isText: true },
    { key: "difference", title: "Compared", value: (row) => stateOrder.get(row.difference) ?? null, cell: difference_cell, kind: "", isText: true },
    ...measured_columns(rows),
  ].filter(({ key }) => key !== "difference" || isCompared),
  after: () => null,
  changed: () => {},
});

function show_cases() {
  const has_words = word_filter(byId("words").value), judgement = byId("judgement").value;
  runTable.show(rows.filter((row) => has_words(row) && (judgement === "" || row.judgement === judgement)), rows.length);
}

const used = new Set(rows.map((row) => row.judgement));
set_options(byId("judgement"), [["", "all verdicts"], ...Object.entries(data.judgements).filter(([name]) => used.has(name)).map(([name, [text]]) => [name, text])]);
byId("filters").addEventListener("input", show_cases);
byId("filters").addEventListener("reset", () => setTimeout(() => { runTable.sort = ""; show_cases(); }));
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("cases-view").hidden = false;
show_cases();
