// ---- a table that its columns sort, and that shows its rows in parts ----

const kPage = 100;  // rows shown at first, and added by "Show more"
const kMaxAll = 2000;  // rows that "Show all" adds at once: more take the browser longer than a second

/** Returns whether a row has all words of a search, in any order. */
function word_filter(text) {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return (row) => words.every((word) => row.lower.includes(word));
}

/** Sets the options of a filter, and keeps its choice where possible. */
function set_options(select, entries) {
  const before = select.value;
  select.replaceChildren(...entries.map(([value, text]) => element("option", { value }, text)));
  select.value = before;
  if (select.selectedIndex < 0) select.selectedIndex = 0;
}

// spec: { name, columns, after, changed }
// - `name` is the id of the table; `${name}-count` and `${name}-more` are of its other elements
// - `columns()` returns [{ key, title, value, cell, kind, isText }]: `value(row)` sorts, null is always last; `cell(row)` is shown.
//   The first column is the row's heading. Numbers sort largest first, text from a to z
// - `after(row)` returns a line that belongs below the row, or null
// - `changed()` is called after a click has sorted
function paged_table(spec) {
  const table = byId(spec.name), count = byId(`${spec.name}-count`), more = byId(`${spec.name}-more`);
  const state = { sort: "", down: false, most: kPage, rows: [], total: 0 };

  const sorted = () => {
    const column = spec.columns().find((one) => one.key === state.sort);
    if (!column) return state.rows;
    const sign = state.down ? -1 : 1;
    const keyed = state.rows.map((row) => [column.value(row), row]);
    keyed.sort(([left], [right]) => {
      if (left === null || right === null) return (left === null) - (right === null);
      return left < right ? -sign : left > right ? sign : 0;
    });
    return keyed.map(([, row]) => row);
  };

  const click = (column) => {
    // A third click restores the order of the page.
    const first = !column.isText;
    if (state.sort !== column.key) { state.sort = column.key; state.down = first; }
    else if (state.down === first) state.down = !first;
    else state.sort = "";
    fill();
    spec.changed();
  };

  const head = (columns) => {
    const line = element("tr");
    for (const column of columns) {
      const button = element("button", { type: "button" }, column.title);
      button.addEventListener("click", () => click(column));
      const cell = element("th", { scope: "col", class: column.kind, "data-key": column.key }, button);
      if (column.key === state.sort) cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      line.append(cell);
    }
    // Keeps the focus on the button that was clicked.
    const at = [...table.tHead.querySelectorAll("button")].indexOf(document.activeElement);
    table.tHead.replaceChildren(line);
    if (at >= 0) table.tHead.querySelectorAll("button")[at]?.focus();
  };

  const add_buttons = (shown) => {
    more.replaceChildren();
    const rest = state.rows.length - shown;
    if (rest <= 0) return;
    const steps = [[`Show ${Math.min(kPage, rest)} more`, state.most + kPage]];
    steps.push(rest <= kMaxAll ? [`Show all ${many(state.rows.length)}`, Infinity] : [`Show ${many(kMaxAll)} more`, state.most + kMaxAll]);
    for (const [text, most] of steps) {
      const button = element("button", { type: "button" }, text);
      button.addEventListener("click", () => {
        state.most = most;
        fill();
        table.tBodies[0].querySelectorAll("tr:not(.detail) > th a")[shown]?.focus();
      });
      more.append(button);
    }
  };

  function fill() {
    const columns = spec.columns();
    const lines = [];
    const ordered = sorted();
    const shown = Math.min(state.most, ordered.length);
    for (const row of ordered.slice(0, shown)) {
      const cells = columns.map(({ kind, title, cell }, i) => element(i === 0 ? "th" : "td", i === 0 ? { scope: "row", class: kind } : { class: kind, "data-label": title }, cell(row)));
      lines.push(element("tr", {}, ...cells));
      const after = spec.after(row);
      if (after !== null) lines.push(after);
    }
    head(columns);
    table.tBodies[0].replaceChildren(...lines);
    const all = `${many(state.total)} case${state.total === 1 ? "" : "s"}`;
    count.textContent = `${ordered.length === state.total ? all : `${many(ordered.length)} of ${all}`}${shown < ordered.length ? `, the first ${many(shown)} shown` : ""}`;
    add_buttons(shown);
  }

  return {
    /** Shows these rows, of `total`; `reveal`, if it is one of them, is among those that are shown at first. */
    show(rows, total, reveal = null) {
      state.rows = rows;
      state.total = total;
      state.most = reveal === null ? kPage : Math.max(kPage, sorted().indexOf(reveal) + 1);
      fill();
    },
    /** The order for the address: `time-down`; empty for that of the page. */
    get sort() { return state.sort === "" ? "" : `${state.sort}${state.down ? "-down" : ""}`; },
    set sort(text) {
      state.down = text.endsWith("-down");
      state.sort = state.down ? text.slice(0, -5) : text;
    },
    /** Shows a message in place of the number of rows. */
    report(text) { count.textContent = text; },
  };
}

// A narrow window shows the rows as cards without a head.
for (const table of document.querySelectorAll("table.cards:not(.paged)")) {
  const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { cell.dataset.label = titles[i]; });
}
