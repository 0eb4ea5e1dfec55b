// @ts-check
/** What a node knows of its processes, from /actuator/node. */
import { showFacts } from "./facts.js";
import { bytes, count, time } from "./format.js";
import { ReadAgain } from "./reading.js";
import { Table } from "./table.js";

/**
 * A process as docs/node.md describes it.
 * @typedef {object} Process
 * @property {string} name
 * @property {string} state
 * @property {boolean} ready
 * @property {number | null} pid
 * @property {number} secondsInState
 * @property {number} restarts
 * @property {number} endsInARow
 * @property {number} backoffSeconds
 * @property {number | null} lastExit
 * @property {string | null} device
 * @property {{grpc: number, http: number, metrics: number}} ports
 */

/** @typedef {{id: string, worker: string, usedBytes: number | null, totalBytes: number | null}} Gpu */
/** @typedef {{ready: boolean, devices: {platform: string, gpus: Gpu[]}, processes: Process[], maxRestarts: number}} Node */

/** @type {Record<number, string>} */
const EXITS = {
  1: "it refused to start; its log says why",
  3: "its heap was too small",
  70: "its engine failed",
  127: "it could not be started",
  137: "it was killed, mostly for memory",
};

export class NodeView {
  /** @type {Node | null} */
  #node = null;
  /** @type {Set<string>} */
  #workers = new Set();

  /**
   * @param {{facts: HTMLElement, details: HTMLElement, table: HTMLElement, filter: HTMLInputElement, shown: HTMLElement}} parts
   * @param {(worker: string, model: string) => void} opened
   * @param {(text: string, bad: boolean) => void} said
   */
  constructor(parts, opened, said) {
    this.parts = parts;
    this.said = said;
    this.paused = false;
    this.table = new Table(parts, {
      many: "processes",
      columns: columns(),
      sorted: 0,
      name: (p) => p.name,
      words: (p) => `${p.name} ${state(p)} ${p.device ?? ""} ${why(p)}`,
      chosen: (p) => showFacts(parts.details, p === null ? [] : details(p)),
      opened: (p) => {
        if (this.#workers.has(p.name)) opened(p.name, "");
      },
    });
    this.reading = new ReadAgain(
      () => "../actuator/node",
      (told) => this.#take(told),
      (reason) => said(`no answer: ${reason}; asking again`, true),
    );
  }

  /** @param {string[]} names of workers, which have pages */
  name(names) {
    this.#workers = new Set(names);
  }

  open() {
    this.reading.open();
  }

  close() {
    this.reading.close();
  }

  /** Keeps what is shown, or shows what there is now. @param {boolean} paused */
  pause(paused) {
    this.paused = paused;
    this.#show();
  }

  /** @param {Node} node */
  #take(node) {
    this.#node = node;
    this.said(node.ready ? "live" : "not ready", !node.ready);
    this.#show();
  }

  #show() {
    const node = this.#node;
    if (this.paused || node === null) return;
    this.table.show(node.processes);
    const gpus = node.devices.gpus.map(memory).join("; ");
    this.parts.facts.textContent = `Devices: ${node.devices.platform}${gpus && `. ${gpus}`}`;
  }
}

/** @param {Gpu} gpu */
function memory({ id, worker, usedBytes, totalBytes }) {
  const taken = usedBytes === null || totalBytes === null ? "" : `: ${bytes(usedBytes)} of ${bytes(totalBytes)} are taken`;
  return `${id} (${worker})${taken}`;
}

/** @param {Process} process */
function state({ state, ready }) {
  const told = state.toLowerCase().replaceAll("_", " ");
  return state === "RUNNING" && !ready ? "running, not ready" : told;
}

/** @param {Process} process */
function why({ state, backoffSeconds, secondsInState, lastExit, endsInARow }) {
  const words = lastExit === null ? "" : EXITS[lastExit];
  const exit = lastExit === null ? "" : `its last end was ${lastExit}${words ? `: ${words}` : ""}`;
  const left = time(Math.max(0, backoffSeconds - secondsInState) * 1e6);
  const begins = {
    BACKING_OFF: `starts again in ${left}, after ${count(endsInARow)} ends in a row`,
    WAITING: "waits until the memory of its GPU is free",
  }[state];
  return [begins, exit].filter(Boolean).join("; ");
}

/** @param {Process} p @returns {import("./facts.js").Fact[]} */
function details(p) {
  return [
    ["Process", `${p.name}, ${state(p)} for ${time(p.secondsInState * 1e6)}`, true],
    ["Why", why(p), true],
    ["Process id", p.pid === null ? "" : String(p.pid), false],
    ["Device", p.device ?? "", false],
    ["Restarts", count(p.restarts), false],
    ["Ports", `gRPC ${p.ports.grpc}, HTTP ${p.ports.http}, operators ${p.ports.metrics}`, true],
  ];
}

/** @returns {import("./table.js").Column<Process>[]} */
function columns() {
  return [
    { kind: "name", title: "Process", help: "name", by: (p) => p.name, text: (p) => p.name, down: false },
    { kind: "stateof", title: "State", help: "where it is in its life", by: state, text: state, down: false, bad: (p) => state(p) !== "running" },
    { kind: "number next", title: "For", help: "how long it has been in that state", by: (p) => p.secondsInState, text: (p) => time(p.secondsInState * 1e6), down: false },
    { kind: "number queue", title: "Restarts", help: "starts beyond the first", by: (p) => p.restarts, text: (p) => (p.restarts ? count(p.restarts) : ""), down: true },
    { kind: "number due", title: "Last exit", help: "exit code of its last end", by: (p) => p.lastExit ?? -1, text: (p) => (p.lastExit === null ? "" : String(p.lastExit)), down: true },
    { kind: "place", title: "Device", help: "its GPU", by: (p) => p.device ?? "", text: (p) => p.device ?? "", down: false },
    { kind: "reason", title: "Why", help: "why it does not run, or ended", by: why, text: why, down: true },
  ];
}
