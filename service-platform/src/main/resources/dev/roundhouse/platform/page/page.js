// @ts-check
/** Joins the parts of the page. Everything that a worker says is shown as text, never as HTML. */
import { Confirmed, ModelActions, WorkerActions } from "./actions.js";
import * as address from "./address.js";
import { DeviceBar } from "./device.js";
import { Feed, NOTHING_CHANGES } from "./feed.js";
import { bytes } from "./format.js";
import { GatewayView } from "./gateway.js";
import { ModelFacts } from "./model.js";
import { Models } from "./models.js";
import { NodeView } from "./node.js";
import { Recorder } from "./recording.js";
import { Repository } from "./repository.js";
import { Timeline } from "./timeline.js";
import { save } from "./trace.js";
import { Bearer } from "./token.js";

/** @param {string} id @returns {HTMLElement} */
function part(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no '${id}'`);
  return found;
}

/** Of a table: itself, its filter, and how many rows are shown. @param {string} table */
function tableParts(table) {
  const filter = /** @type {HTMLInputElement} */ (part(`${table}-filter`));
  return { table: part(table), filter, shown: part(`${table}-shown`) };
}

const bar = new DeviceBar(part("bar"), part("uses"));
const timeline = new Timeline(/** @type {HTMLCanvasElement} */ (part("timeline")), part("under"));
const programs = new ModelFacts(part("programs"), () => feed.worker);
const repository = new Repository(() => feed.worker);
const bearer = new Bearer({
  dialog: /** @type {HTMLDialogElement} */ (part("credentials")),
  wanted: part("wanted"),
  token: /** @type {HTMLInputElement} */ (part("token")),
  yes: part("show-token"),
  no: part("no-token"),
});
const confirmed = new Confirmed(
  {
    dialog: /** @type {HTMLDialogElement} */ (part("confirm")),
    question: part("question"),
    entry: part("entry"),
    amount: /** @type {HTMLInputElement} */ (part("amount")),
    yes: part("yes"),
    no: part("no"),
  },
  () => feed.worker,
  bearer,
);
const modelActions = new ModelActions(part("actions"), part("done"), confirmed, repository);
const workerActions = new WorkerActions(part("worker-actions"), part("worker-done"), confirmed);
const models = new Models({ ...tableParts("models"), details: part("details") }, () => feed, chosen);
const gateway = new GatewayView(
  { facts: part("gateway-facts"), details: part("worker-details"), workers: tableParts("workers"), placed: tableParts("placed") },
  open,
  offer,
  say,
);
const node = new NodeView({ facts: part("node-facts"), details: part("process-details"), ...tableParts("processes") }, open, say);
const recorder = new Recorder(
  /** @type {HTMLButtonElement} */ (part("record")),
  part("recorded"),
  () => feed.worker,
  bearer,
);
const pause = part("pause");
const choice = /** @type {HTMLSelectElement} */ (part("worker"));
const sections = [...document.querySelectorAll("main > section")].map((each) => /** @type {HTMLElement} */ (each));

/** What is shown: a worker, or what a gateway or a node knows of all of them. @type {"worker" | "gateway" | "node"} */
let view = "worker";
/** What answers for several workers, where the page is of one. @type {import("./feed.js").Process | null} */
let fleet = null;
/** @type {string[]} */
let names = [];
/** To be chosen when the worker has told of it; empty for none. */
let wanted = "";
let paused = false;
/** Whose repository is read; null for nobody's. @type {string | null} */
let repositoryOf = null;

const feed = new Feed(
  () => {
    if (!paused) show();
  },
  say,
  choose,
);

/** @param {import("./feed.js").Model | null} model */
function chosen(model) {
  programs.show(model === null ? null : model.name);
  modelActions.show(model, allowed());
}

/** What the worker allows, and the port that this page is of. */
function allowed() {
  if (fleet === null) return feed.changes;
  const here = fleet.changes;
  const there = feed.changes;
  return {
    control: here.control && there.control,
    loaded: here.loaded && there.loaded,
  };
}

function show() {
  bar.show(feed);
  timeline.show(feed);
  followRepository();
  models.table.show([...feed.models.values(), ...repository.others(feed.models)]);
  if (wanted !== "" && models.table.choose(wanted)) wanted = "";
  workerActions.show(feed.last?.draining ?? null, allowed());
  recorder.show(allowed().control);
  facts();
}

/** Only somebody who may load models needs to know what else there is. */
function followRepository() {
  const of = allowed().loaded ? (feed.worker ?? "") : null;
  if (of === repositoryOf) return;
  repositoryOf = of;
  if (of === null) repository.close();
  else repository.open();
}

function facts() {
  const last = feed.last;
  if (!last) {
    part("facts").textContent = location.host;
    return;
  }
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
  gateway.pause(paused);
  node.pause(paused);
  if (!paused && view === "worker") show();
}

pause.addEventListener("click", setPaused);
part("zoom-in").addEventListener("click", () => timeline.zoom(0.5));
part("zoom-out").addEventListener("click", () => timeline.zoom(2));
part("zoom-all").addEventListener("click", () => timeline.all());
part("save").addEventListener("click", () => save(feed.seconds));
document.addEventListener("keydown", (event) => {
  if (event.target instanceof HTMLSelectElement) return;
  if (event.target instanceof HTMLInputElement) {
    const grid = event.target.closest("section")?.querySelector("[role=grid]");
    if (event.key === "Escape" && grid instanceof HTMLElement) {
      event.preventDefault(); // or the words would go, and what they left out would not come back
      grid.focus();
    }
    return;
  }
  if (event.key === "/") {
    const own = document.activeElement?.closest("section")?.querySelector("input");
    const filter = own ?? document.querySelector("main > section:not([hidden]) input");
    if (filter instanceof HTMLElement) filter.focus();
    event.preventDefault();
  } else if (event.key === "p") {
    setPaused();
  }
});

/** A node and a gateway have several workers. @param {import("./feed.js").Process} process @param {string[]} workers */
function choose(process, workers) {
  fleet = process;
  offer(workers);
  node.name(workers);
  part("choice").hidden = false;
  follow();
}

/** Has the list name these workers. @param {string[]} workers */
function offer(workers) {
  if (workers.join("\n") === names.join("\n") && choice.options.length > 0) return;
  names = workers;
  choice.replaceChildren(new Option("all workers", ""), ...workers.map((name) => new Option(name, name)));
  choice.value = feed.worker ?? "";
}

/** Goes to a worker's page, where the address keeps it. @param {string} worker @param {string} model */
function open(worker, model) {
  location.hash = address.write(worker, model);
}

choice.addEventListener("change", () => open(choice.value, ""));
window.addEventListener("hashchange", () => {
  if (fleet !== null) follow();
});

/** Reads what is to be shown; a page that nobody sees reads nothing. */
function follow() {
  closeAll();
  if (document.hidden) {
    say("hidden", false);
    return;
  }
  const place = address.read(location.hash);
  const known = fleet !== null && names.includes(place.worker);
  view = fleet === null || known ? "worker" : fleet.process;
  feed.of(known ? place.worker : null);
  wanted = place.model;
  choice.value = feed.worker ?? "";
  for (const section of sections) section.hidden = section.dataset.of !== view;
  part("worker-done").textContent = "";
  if (view === "worker") {
    feed.open();
  } else {
    workerActions.show(null, NOTHING_CHANGES);
    part("facts").textContent = `${location.host}, ${view}`;
    if (view === "gateway") gateway.open();
    else node.open();
  }
}

function closeAll() {
  feed.close();
  repository.close();
  repositoryOf = null;
  gateway.close();
  node.close();
}

document.addEventListener("visibilitychange", follow);
follow();
