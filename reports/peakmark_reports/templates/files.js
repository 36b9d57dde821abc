// ---- files of data/, as scripts: a page from disk may load scripts, but no data ----

const files = new Map();
window.peakmarkData = (name, value) => { files.get(name).resolve(value); };
function load(name) {
  if (!files.has(name)) {
    const file = {};
    file.promise = new Promise((resolve, reject) => { file.resolve = resolve; file.reject = reject; });
    files.set(name, file);
    const path = `data/${name}.js`;
    const script = element("script", { src: `${path}?${data.version}`, charset: "utf-8" });
    script.addEventListener("error", () => {
      files.delete(name);
      file.reject(new Error(`${path} cannot be read: it belongs to this page; keep the folder together.`));
    });
    document.head.append(script);
  }
  return files.get(name).promise;
}

// The runs and rows of a device. `name`: with its branch, where there are several.
const hasBranches = data.devices.some((device) => device.branch !== data.devices[0].branch);
data.devices.forEach((device, number) => {
  device.number = number;
  device.name = hasBranches && device.branch ? `${device.label}, ${device.branch}` : device.label;
});
const devices = new Map();
function load_device(number) {
  if (!devices.has(number)) {
    devices.set(number, load(`device-${number}`).then((content) => {
      const rows = content.rows.map((values, order) => {
        const row = Object.fromEntries(data.columns.map((name, i) => [name, values[i]]));
        return { ...row, order, device: number, lower: row.name.toLowerCase(), changes: row.changes || [], reasons: row.reasons || [] };
      });
      return { ...data.devices[number], runs: content.runs, environment: content.environment, rows };
    }, (error) => { devices.delete(number); throw error; }));
  }
  return devices.get(number);
}
const load_cases = (number) => load(`cases-${number}`);

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
// The value of one run, without those of the others.
function unpacked_at(packed, at) {
  if (packed.letters !== undefined) {
    const value = lettered({ least: packed.least, letters: packed.letters.slice(2 * at, 2 * at + 2) })[0];
    return value === null ? null : value * packed.unit;
  }
  let i = 0;
  for (const one of packed.values) {
    const [count, value] = Array.isArray(one) ? one : [1, one];
    i += count;
    if (at < i) return value === null || packed.unit === 1 ? value : value * packed.unit;
  }
  return null;
}
