// @ts-check
/** Joins the parts of the page. Everything that a worker says is shown as text, never as HTML. */
import { Actions } from "./actions.js";
import { DeviceBar } from "./device.js";
import { Feed } from "./feed.js";
import { bytes } from "./format.js";
import { ModelFacts } from "./model.js";
import { Recorder } from "./recording.js";
import { Table } from "./table.js";
import { Timeline } from "./timeline.js";
import { save } from "./trace.js";

/** @param {string} id @returns {HTMLElement} */
function part(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no '${id}'`);
  return found;
}

const bar = new DeviceBar(part("bar"), part("uses"));
const timeline = new Timeline(/** @type {HTMLCanvasElement} */ (part("timeline")), part("under"));
const programs = new ModelFacts(part("programs"), () => feed.worker);
const actions = new Actions({
  place: part("actions"),
  dialog: /** @type {HTMLDialogElement} */ (part("confirm")),
  question: part("question"),
  entry: part("entry"),
  amount: /** @type {HTMLInputElement} */ (part("amount")),
  yes: part("yes"),
  no: part("no"),
  done: part("done"),
});
const table = new Table(chosen, {
  table: part("table"),
  head: part("head"),
  body: part("body"),
  height: part("height"),
  shown: part("shown"),
  details: part("details"),
});
const recorder = new Recorder(
  /** @type {HTMLButtonElement} */ (part("record")),
  part("recorded"),
  () => feed.worker,
);
const pause = part("pause");
const workers = /** @type {HTMLSelectElement} */ (part("worker"));
const filter = /** @type {HTMLInputElement} */ (part("filter"));
let paused = false;

const feed = new Feed(() => {
  if (!paused) show();
}, say, choose);

/** @param {import("./feed.js").Model | null} model */
function chosen(model) {
  programs.show(model === null ? null : model.name);
  actions.show(model, feed.changes);
}

function show() {
  bar.show(feed);
  timeline.show(feed);
  table.show(feed);
  recorder.show(feed.recording);
  facts();
}

function facts() {
  const last = feed.last;
  if (!last) return;
  const budget = last.budgetBytes === null || last.budgetBytes === undefined ? "" : ` of ${bytes(last.budgetBytes)}`;
  const known = last.discipline ? `, ${last.discipline}` : "";
  const running = last.running ? `; runs '${last.running}'` : "";
  part("facts").textContent =
    `${location.host}${known}${running}; weights on the device: ${bytes(last.residentBytes)}${budget}`;
}

/** @param {string} text @param {boolean} bad */
function say(text, bad) {
  const state = part("state");
  const shown = paused ? `paused (${text})` : text;
  if (state.textContent !== shown) state.textContent = shown; // or it would be read out each second
  state.classList.toggle("bad", bad);
}

function setPaused() {
  paused = !paused;
  pause.textContent = paused ? "Go on" : "Pause";
  pause.setAttribute("aria-pressed", String(paused));
  timeline.stop(paused);
  if (!paused) show();
}

pause.addEventListener("click", setPaused);
part("zoom-in").addEventListener("click", () => timeline.zoom(0.5));
part("zoom-out").addEventListener("click", () => timeline.zoom(2));
part("zoom-all").addEventListener("click", () => timeline.all());
part("save").addEventListener("click", () => save(feed.seconds));
filter.addEventListener("input", () => table.filter(filter.value));
document.addEventListener("keydown", (event) => {
  if (event.target instanceof HTMLSelectElement) return;
  if (event.target instanceof HTMLInputElement) {
    if (event.key === "Escape") part("table").focus();
    return;
  }
  if (event.key === "/") {
    filter.focus();
    event.preventDefault();
  } else if (event.key === "p") {
    setPaused();
  }
});

/** A node and a gateway have several workers. @param {string[]} names */
function choose(names) {
  const before = decodeURIComponent(location.hash.slice(1));
  workers.replaceChildren(...names.map((name) => new Option(name, name)));
  workers.value = names.includes(before) ? before : names[0];
  part("choice").hidden = false;
  feed.worker = workers.value;
  feed.open();
}

workers.addEventListener("change", () => {
  history.replaceState(null, "", `#${encodeURIComponent(workers.value)}`);
  feed.worker = workers.value;
  feed.open();
});

/** A page that nobody sees reads nothing. */
function follow() {
  if (document.hidden) {
    feed.close();
    say("hidden", false);
  } else {
    feed.open();
  }
}

document.addEventListener("visibilitychange", follow);
follow();
