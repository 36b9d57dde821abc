// What the pages of `peakmark report` and `peakmark show --html` share: elements, sizes as text, and a chart that is walked
// along by pointer and keys.

// Text only ever comes in as text: nothing of a history or a profile is read as HTML.
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

// A slider for screen readers, whose place goes from 0 to `last`. `walk`: { at, last, nearest, jumps, tell }: the place where
// it begins, which is moved; the place nearest to an x of the drawing; places that further keys go to, by letter, as functions
// that give null where there is none; and what is told and drawn of the place.
function walkable(svg, walk) {
  const last = walk.last;
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "slider");
  svg.setAttribute("aria-valuemin", "0");
  svg.setAttribute("aria-valuemax", String(last));
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    walk.at = walk.nearest((event.clientX - box.left) * svg.viewBox.baseVal.width / box.width);
    walk.tell();
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
    walk.tell();
  });
}

// Draws when the figure is shown, and whenever its width is another one.
function drawnToWidth(figure, draw) {
  let drawn = 0;
  new ResizeObserver(() => {
    if (figure.clientWidth === drawn) return;
    drawn = figure.clientWidth;
    requestAnimationFrame(draw);
  }).observe(figure);
}
