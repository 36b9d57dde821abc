// ---- starts the page ----

/** Shows what the address names, and otherwise the cases of the first device. */
function follow() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (wanted.has("compare")) return follow_comparison(wanted);
  if (["case", "words", "state", "operation", "device", "only", "sort"].some((key) => wanted.has(key))) return follow_cases(wanted);
  return null;
}

function start_cases() {
  byId("cases-view").hidden = false;
  const names = data.devices.map((device) => [String(device.number), device.name]);
  set_options(byId("device"), names.length > 1 ? [...names, [kAllDevices, "all devices"]] : names);
  byId("device-label").hidden = names.length < 2;
  byId("filters").addEventListener("input", filter_cases_and_remember);
  byId("filters").addEventListener("reset", () => setTimeout(() => { caseTable.sort = ""; filter_cases_and_remember(); }));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
}
async function filter_cases_and_remember() {
  await filter_cases();
  remember_cases();
}

function start_comparison() {
  byId("compare-view").hidden = false;
  set_options(byId("compare-device"), data.devices.map((device) => [String(device.number), device.name]));
  byId("compare-device").addEventListener("input", list_runs);
  byId("compare-words").addEventListener("input", () => { if (comparison.device) { show_comparison(); remember_comparison(); } });
  byId("compare-form").addEventListener("submit", (event) => { event.preventDefault(); compare_chosen(); });
  byId("compare-result").prepend(element("div", { class: "actions" }, copy_button(comparison_address)));
}

if (data.devices.length > 0) {
  start_cases();
  start_comparison();
  const followed = follow();
  // An address of the comparison leaves the list as it is at first.
  Promise.resolve(followed).then(() => {
    if (list.rows.length === 0) filter_cases();
    if (byId("compare-before").options.length === 0) list_runs().catch((error) => compareTable.report(error.message));
  });
  window.addEventListener("hashchange", follow);
}
