// @ts-check
/** The runs and loads that are shown, in the format that Perfetto and chrome://tracing read. */

/** @typedef {import("./feed.js").Second} Second */

const RUNS = 1;
const LOADS = 2;

/** @param {Second[]} seconds */
export function trace(seconds) {
  /** @type {object[]} */
  const events = [named(RUNS, "runs on the device"), named(LOADS, "loads of weights")];
  for (const second of seconds) {
    events.push(...second.runs.map((span) => event(span, RUNS)));
    events.push(...second.loads.map((span) => event(span, LOADS)));
    events.push({
      name: "runs not told singly",
      ph: "C",
      pid: 1,
      ts: second.at * 1000,
      args: { runs: second.unseenRuns },
    });
  }
  return { displayTimeUnit: "ms", traceEvents: events };
}

/** @param {number} track @param {string} name */
function named(track, name) {
  return { name: "thread_name", ph: "M", pid: 1, tid: track, args: { name } };
}

/** @param {import("./feed.js").Span} span @param {number} track */
function event(span, track) {
  const dur = (span.end - span.start) * 1000;
  return { name: span.model, ph: "X", pid: 1, tid: track, ts: span.start * 1000, dur };
}

/** Has the browser save it. @param {Second[]} seconds */
export function save(seconds) {
  const text = JSON.stringify(trace(seconds));
  saveAs(new Blob([text], { type: "application/json" }), "json");
}

/** Has the browser save a file, which is named by the time. @param {Blob} file @param {string} ending */
export function saveAs(file, ending) {
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = address;
  link.download = `roundhouse-${new Date().toISOString().replaceAll(/[:.]/g, "-")}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
