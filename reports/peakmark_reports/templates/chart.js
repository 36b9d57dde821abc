// Shared by the pages of `peakmark report` and `peakmark show --html`: elements, sizes as text, and a chart with a cursor that
// pointer and keys move.

// Inserts text of histories and profiles as text nodes, never as HTML.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}
function shape(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function size(bytes, digits = 4) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let unit = 0;
  let value = bytes;
  while (Math.abs(value) >= 1024 && unit + 1 < units.length) { value /= 1024; ++unit; }
  return `${unit === 0 ? value : Number(value.toPrecision(digits))} ${units[unit]}`;
}

// Makes a chart a slider for screen readers. `walk`: { at, last, nearest, jumps, describe }:
// - `at` is the position, from 0 to `last`; this function changes it
// - `nearest(x)` returns the position nearest to an x coordinate of the drawing
// - `jumps` has functions by key, which return a position or null
// - `describe()` draws the cursor at `at` and sets its text
function walkable(svg, walk) {
  const last = walk.last;
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "slider");
  svg.setAttribute("aria-valuemin", "0");
  svg.setAttribute("aria-valuemax", String(last));
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    walk.at = walk.nearest((event.clientX - box.left) * svg.viewBox.baseVal.width / box.width);
    walk.describe();
  });
  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = event.shiftKey || event.key.startsWith("Page") ? Math.max(1, Math.round(last / 20)) : 1;
    const jump = walk.jumps[event.key.toLowerCase()];
    let to = null;
    if (event.key === "ArrowLeft" || event.key === "ArrowDown" || event.key === "PageDown") to = Math.max(0, walk.at - step);
    else if (event.key === "ArrowRight" || event.key === "ArrowUp" || event.key === "PageUp") to = Math.min(last, walk.at + step);
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = last;
    else if (jump) to = jump();
    if (to === null) return;
    walk.at = to;
    event.preventDefault();
    walk.describe();
  });
}

// Draws when the figure is shown, and whenever its width changes.
function drawnToWidth(figure, draw) {
  let drawn = 0;
  new ResizeObserver(() => {
    if (figure.clientWidth === drawn) return;
    drawn = figure.clientWidth;
    requestAnimationFrame(draw);
  }).observe(figure);
}
