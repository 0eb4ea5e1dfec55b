// @ts-check
/** What a worker's repository has: models that were never loaded, and who calls whom. Read where models may be loaded. */
import { whose } from "./address.js";
import { ReadAgain } from "./reading.js";

/** @typedef {import("./feed.js").Model} Model */
/** @typedef {{name: string, version: string, state: string, reason: string, calledBy: string[]}} Known */
/** @typedef {{mode: string, models: Known[]}} Document */

export class Repository {
  /** @type {Map<string, Known>} */
  #models = new Map();
  /** As repository.mode has it; empty while it is not known. */
  mode = "";

  /** @param {() => string | null} worker */
  constructor(worker) {
    this.reading = new ReadAgain(
      () => `../actuator/repository${whose(worker())}`,
      (told) => this.#take(told.workers ? told.workers[0]?.answer : told),
      () => {}, // the page's own events say what is wrong
    );
  }

  open() {
    this.reading.open();
  }

  close() {
    this.reading.close();
    this.#take(null);
  }

  /** @param {Document | null} document */
  #take(document) {
    this.mode = document?.mode ?? "";
    this.#models = new Map((document?.models ?? []).map((model) => [model.name, model]));
  }

  /** Models that are loaded and call this one. @param {string} name */
  callers(name) {
    return this.#models.get(name)?.calledBy ?? [];
  }

  /** Those that the worker does not run, as if it told of them. @param {Map<string, Model>} told @returns {Model[]} */
  others(told) {
    return [...this.#models.values()].filter((model) => !told.has(model.name)).map(neverLoaded);
  }
}

/** @param {Known} model @returns {Model} */
function neverLoaded({ name, version, reason }) {
  const nothing = { weight: null, due: null, waitedMicros: null, inMicros: null, nextUseSeconds: null };
  const none = { queued: 0, deviceBytes: 0, completed: 0, failed: 0, shed: 0, refused: 0, runs: 0, rows: 0 };
  const never = { paddingRows: 0, computeMicros: 0, loads: 0, evictions: 0 };
  return { name, version, reason, state: "unloaded", place: "none", pinned: false, why: "", words: "", ...nothing, ...none, ...never };
}
