// @ts-check
/** What a gateway knows itself: its workers, from /actuator/workers, and where models are, from /actuator/placement. */
import { showFacts } from "./facts.js";
import { bytes, count, percent, time } from "./format.js";
import { ReadAgain } from "./reading.js";
import { Table } from "./table.js";

/** @typedef {{status: string, text: string, failures: number, at: string, until: string}} LastEjection */

/**
 * A worker as docs/gateway.md describes it.
 * @typedef {object} Worker
 * @property {string} worker
 * @property {string} address
 * @property {boolean} ready
 * @property {string} reason
 * @property {string | null} since
 * @property {number} models
 * @property {number} modelsReady
 * @property {number} outstandingSeconds
 * @property {number} openCalls
 * @property {number} answered
 * @property {number} failed
 * @property {boolean} ejected
 * @property {number} failuresInRow
 * @property {number} ejections
 * @property {LastEjection | null} lastEjection
 * @property {number} followed
 * @property {{sentOn: number, taken: number, won: number}} hedges
 */

/** @typedef {{answered: number, failed: number, followed: number, ejections: number, sentOn: number, won: number}} Counts */

/**
 * @typedef {object} Placed
 * @property {string} name
 * @property {number} configuredReplicas
 * @property {number} effectiveReplicas
 * @property {{worker: string}[]} replicas
 * @property {number} utilization
 * @property {number} arrivalRate
 * @property {number} costSeconds
 * @property {number} weightNbytes
 * @property {boolean} placed
 * @property {boolean} drifted
 */

/**
 * @typedef {object} Placement
 * @property {string} mode
 * @property {{lastTrigger: string, lastRepackUnixSeconds: number, lastModelsMoved: number, repackCount: number}=} repack
 * @property {Placed[]} models
 * @property {string[]} warnings
 */

/** Of each model's workers, so many are named. */
const MOST_NAMED = 3;

export class GatewayView {
  /** @type {Worker[]} */
  #workers = [];
  /** Counts of each worker when the page was opened, or when it came. @type {Map<string, Counts>} */
  #first = new Map();
  #atMillis = 0;
  /** @type {Placement | null} */
  #placement = null;

  /**
   * @param {object} parts
   * @param {HTMLElement} parts.facts
   * @param {HTMLElement} parts.details
   * @param {{table: HTMLElement, filter: HTMLInputElement, shown: HTMLElement}} parts.workers
   * @param {{table: HTMLElement, filter: HTMLInputElement, shown: HTMLElement}} parts.placed
   * @param {(worker: string, model: string) => void} opened
   * @param {(names: string[]) => void} named told which workers there are
   * @param {(text: string, bad: boolean) => void} said
   */
  constructor(parts, opened, named, said) {
    this.parts = parts;
    this.named = named;
    this.said = said;
    this.paused = false;
    this.workers = new Table(parts.workers, {
      many: "workers",
      columns: this.#workerColumns(),
      sorted: 0,
      name: (w) => w.worker,
      words: (w) => `${w.worker} ${w.address} ${state(w)} ${why(w)}`,
      chosen: (w) => showFacts(parts.details, w === null ? [] : this.#details(w)),
      opened: (w) => opened(w.worker, ""),
    });
    this.placed = new Table(parts.placed, {
      many: "models",
      columns: placedColumns(),
      sorted: 2,
      name: (m) => m.name,
      words: (m) => `${m.name} ${where(m)} ${note(m)}`,
      chosen: () => {},
      opened: (m) => {
        const home = this.#home(m);
        if (home !== "") opened(home, m.name);
      },
    });
    this.readings = [
      new ReadAgain(() => "../actuator/workers", (told, at) => this.#takeWorkers(told.workers, at), this.#lost),
      new ReadAgain(() => `../actuator/placement?replicas=${MOST_NAMED}`, (told) => this.#takePlacement(told), this.#lost),
    ];
  }

  open() {
    for (const each of this.readings) each.open();
  }

  close() {
    for (const each of this.readings) each.close();
  }

  /** Keeps what is shown, or shows what there is now. @param {boolean} paused */
  pause(paused) {
    this.paused = paused;
    this.#show();
  }

  #lost = (/** @type {string} */ reason) => this.said(`no answer: ${reason}; asking again`, true);

  /** @param {Worker[]} workers @param {number} at */
  #takeWorkers(workers, at) {
    this.#workers = workers;
    this.#atMillis = at;
    /** @type {Map<string, Counts>} */
    const first = new Map();
    for (const worker of workers) {
      const now = counts(worker);
      const before = this.#first.get(worker.worker);
      // smaller counts are another process's, or another worker's of that name
      const same = before !== undefined && now.answered >= before.answered && now.failed >= before.failed;
      first.set(worker.worker, same ? before : now);
    }
    this.#first = first;
    this.named(workers.map((each) => each.worker));
    this.said("live", false);
    this.#show();
  }

  /** @param {Placement} placement */
  #takePlacement(placement) {
    this.#placement = placement;
    this.#show();
  }

  #show() {
    if (this.paused) return;
    this.workers.show(this.#workers);
    this.placed.show(this.#placement?.models ?? []);
    const lines = [this.#totals(), ...(this.#placement ? [placing(this.#placement), ...this.#placement.warnings] : [])];
    this.parts.facts.replaceChildren(...lines.filter(Boolean).map(line));
  }

  /** @param {Worker} worker @param {keyof Counts} what */
  #since(worker, what) {
    const first = this.#first.get(worker.worker);
    return first === undefined ? 0 : counts(worker)[what] - first[what];
  }

  #totals() {
    /** @param {keyof Counts} what */
    const sum = (what) => count(this.#workers.reduce((all, worker) => all + this.#since(worker, what), 0));
    const ready = this.#workers.filter((each) => each.ready && !each.ejected).length;
    const open = this.#workers.reduce((all, worker) => all + worker.openCalls, 0);
    return (
      `${count(ready)} of ${count(this.#workers.length)} workers take requests; ${count(open)} calls are open. ` +
      `Since the page is open: ${sum("answered")} answered, ${sum("failed")} failed, ${sum("followed")} sent on to another worker, ` +
      `${sum("sentOn")} hedged (${sum("won")} won by the second worker), ${sum("ejections")} ejections.`
    );
  }

  /** One that takes requests, where one of those that are named does. @param {Placed} model */
  #home(model) {
    const ready = new Set(this.#workers.filter((each) => each.ready).map((each) => each.worker));
    const named = model.replicas.map((each) => each.worker);
    return named.find((worker) => ready.has(worker)) ?? named[0] ?? "";
  }

  /** @param {Worker} worker microseconds that it has been in its state */
  #inState(worker) {
    const from = worker.ejected ? worker.lastEjection?.at : worker.since;
    return from ? Math.max(0, this.#atMillis - Date.parse(from)) * 1000 : null;
  }

  /** @returns {import("./table.js").Column<Worker>[]} */
  #workerColumns() {
    return [
      { kind: "name", title: "Worker", help: "name", by: (w) => w.worker, text: (w) => w.worker, down: false },
      { kind: "place", title: "Address", help: "of its gRPC port", by: (w) => w.address, text: (w) => w.address, down: false },
      { kind: "stateof", title: "State", help: "whether it gets requests", by: state, text: state, down: false, bad: (w) => state(w) !== "ready" },
      { kind: "number next", title: "For", help: "how long it has been in that state", by: (w) => this.#inState(w) ?? -1, text: (w) => time(this.#inState(w)), down: false },
      { kind: "number queue", title: "Open", help: "calls that it was given and has not answered", by: (w) => w.openCalls, text: (w) => (w.openCalls ? count(w.openCalls) : ""), down: true },
      { kind: "number due", title: "Answered", help: "calls since the page is open", by: (w) => this.#since(w, "answered"), text: (w) => count(this.#since(w, "answered")), down: true },
      { kind: "number had", title: "Failed", help: "calls that ended with an error since the page is open", by: (w) => this.#since(w, "failed"), text: (w) => count(this.#since(w, "failed")), down: true },
      { kind: "reason", title: "Why", help: "why it gets no requests, or got none the last time", by: (w) => why(w), text: (w) => why(w), down: true },
    ];
  }

  /** @param {Worker} w @returns {import("./facts.js").Fact[]} */
  #details(w) {
    const last = w.lastEjection;
    return [
      ["Worker", `${w.worker} at ${w.address}, ${state(w)} for ${time(this.#inState(w))}`, true],
      ["Why", w.reason, true],
      ["Left alone last", last === null ? "" : `from ${last.at} until ${last.until}: ${ejection(last)}`, true],
      ["Models", `${count(w.modelsReady)} of ${count(w.models)} ready`, false],
      ["Open calls", count(w.openCalls), false],
      ["Work given", time(w.outstandingSeconds * 1e6), false],
      ["Failures in a row", count(w.failuresInRow), false],
      ["Ejections", count(w.ejections), false],
      ["Sent on", count(w.followed), false],
      ["Hedged", `${count(w.hedges.sentOn)} of its calls`, false],
      ["Hedges taken", `${count(w.hedges.taken)}, ${count(w.hedges.won)} won`, false],
    ];
  }
}

/** @param {Worker} worker @returns {Counts} */
function counts({ answered, failed, followed, ejections, hedges }) {
  return { answered, failed, followed, ejections, sentOn: hedges.sentOn, won: hedges.won };
}

/** @param {Worker} worker */
function state({ ready, ejected }) {
  if (!ready) return "not ready";
  return ejected ? "left alone" : "ready";
}

/** @param {LastEjection} last */
function ejection({ failures, status, text }) {
  const calls = failures === 1 ? "1 call" : `${count(failures)} calls in a row`;
  return `${calls} could not be answered, the last one with ${status}${text && ": "}${text}`;
}

/** @param {Worker} worker */
function why({ ready, reason, ejected, lastEjection }) {
  if (!ready) return reason;
  if (lastEjection === null) return "";
  return ejected ? ejection(lastEjection) : `was left alone at ${lastEjection.at.slice(11, 19)} UTC: ${ejection(lastEjection)}`;
}

/** @param {Placement} placement */
function placing({ mode, repack }) {
  if (!repack || repack.repackCount === 0) return `Requests are given by ${mode}.`;
  const at = new Date(repack.lastRepackUnixSeconds * 1000).toLocaleTimeString();
  return `Requests are given by ${mode}; models were placed last at ${at} (${repack.lastTrigger}), ${count(repack.lastModelsMoved)} of them elsewhere than before.`;
}

/** @param {Placed} model */
function where({ replicas, effectiveReplicas }) {
  const more = effectiveReplicas - replicas.length;
  return replicas.map((each) => each.worker).join(", ") + (more > 0 ? ` and ${count(more)} more` : "");
}

/** @param {Placed} model */
function note({ placed, drifted, configuredReplicas }) {
  return [
    placed ? "placed by lpt_packing" : "",
    configuredReplicas === 0 ? "" : configuredReplicas < 0 ? "wanted on all workers" : `wanted on ${count(configuredReplicas)}`,
    drifted ? "not every ready worker has it" : "",
  ]
    .filter(Boolean)
    .join("; ");
}

/** @returns {import("./table.js").Column<Placed>[]} */
function placedColumns() {
  return [
    { kind: "name", title: "Model", help: "name", by: (m) => m.name, text: (m) => m.name, down: false },
    { kind: "number queue", title: "Workers", help: "that get its requests", by: (m) => m.effectiveReplicas, text: (m) => count(m.effectiveReplicas), down: true },
    { kind: "number due", title: "Device", help: "devices' time that it takes, as its workers tell", by: (m) => m.utilization, text: (m) => percent(m.utilization || null), down: true },
    { kind: "number had", title: "Requests/s", help: "as its workers tell", by: (m) => m.arrivalRate, text: (m) => (m.arrivalRate ? m.arrivalRate.toPrecision(3) : ""), down: true },
    { kind: "number next", title: "A request", help: "device time that one takes", by: (m) => m.costSeconds, text: (m) => (m.costSeconds ? time(m.costSeconds * 1e6) : ""), down: true },
    { kind: "number stateof", title: "Weights", help: "bytes", by: (m) => m.weightNbytes, text: (m) => bytes(m.weightNbytes), down: true },
    { kind: "where", title: "Where", help: "workers that get its requests", by: where, text: where, down: false },
    { kind: "place", title: "Why there", help: "how it came there", by: note, text: note, down: false },
  ];
}

/** @param {string} text */
function line(text) {
  const made = document.createElement("p");
  made.textContent = text;
  return made;
}
