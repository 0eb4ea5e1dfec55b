// @ts-check
/** Reads the events and keeps what they told. */
import { whose } from "./address.js";

/**
 * A model as the last event told it; docs/ui.md says what each field is.
 * @typedef {object} Model
 * @property {string} name
 * @property {string} version
 * @property {string} state
 * @property {string} reason
 * @property {string} place
 * @property {boolean} pinned
 * @property {number | null} weight
 * @property {number | null} due
 * @property {number} queued
 * @property {string} why
 * @property {string} words
 * @property {number | null} waitedMicros
 * @property {number | null} inMicros
 * @property {number | null} nextUseSeconds
 * @property {number} deviceBytes
 * @property {number} completed
 * @property {number} failed
 * @property {number} shed
 * @property {number} refused
 * @property {number} runs
 * @property {number} rows
 * @property {number} paddingRows
 * @property {number} computeMicros
 * @property {number} loads
 * @property {number} evictions
 */

/** What whoever opened the page may change, or might with a token. @typedef {{control: boolean, loaded: boolean}} Changes */

/** What answers for several workers, and which changes it passes on. @typedef {{process: "gateway" | "node", changes: Changes}} Process */

/** @typedef {{model: string, start: number, end: number}} Span times in milliseconds since 1970 */

/**
 * What happened between two events.
 * @typedef {object} Second
 * @property {number} from
 * @property {number} at
 * @property {Record<string, number>} device microseconds by use
 * @property {Map<string, number>} compute microseconds by model
 * @property {number} rows
 * @property {number} paddingRows
 * @property {Span[]} runs
 * @property {number} unseenRuns which were too many to be told one by one
 * @property {Span[]} loads
 */

/**
 * @typedef {object} Moment
 * @property {number} at
 * @property {boolean} ready
 * @property {boolean} draining
 * @property {string | null} unknownBecause
 * @property {Record<string, number>} device
 * @property {number} residentBytes
 * @property {string=} discipline
 * @property {string | null=} running
 * @property {string | null=} armed
 * @property {number | null=} budgetBytes
 * @property {number=} pinnedBytes
 * @property {number=} loadingBytes
 * @property {{ever: number, spans: [string, number, number][]}=} runs
 * @property {{ever: number, spans: [string, number, number][]}=} loads
 * @property {string[]} gone
 * @property {any[][]} models
 * @property {number} left
 */

/** @type {Changes} */
export const NOTHING_CHANGES = { control: false, loaded: false };

const KEPT_SECONDS = 180;
const SHARE_SECONDS = 10;
const RETRY_MILLIS = 5000;

export class Feed {
  /** @type {Map<string, Model>} */
  models = new Map();
  /** @type {Second[]} oldest first */
  seconds = [];
  /** @type {Moment | null} */
  last = null;
  /** Of the device time of the last seconds, by model. @type {Map<string, number>} */
  had = new Map();
  /** @type {string[]} */
  uses = [];
  /** What the worker lets be changed on this port. */
  changes = NOTHING_CHANGES;
  /** Whose events are read, where there are several; see {@link of}. @type {string | null} */
  worker = null;

  /** @type {string[]} */
  #fields = [];
  /** @type {EventSource | null} */
  #source = null;
  #ever = { runs: 0, loads: 0 };
  /** @type {number | undefined} */
  #retry;

  /**
   * @param {() => void} changed
   * @param {(text: string, bad: boolean) => void} said
   * @param {(process: Process, names: string[]) => void} toChoose whom to read from, by {@link of} and {@link open}
   */
  constructor(changed, said, toChoose) {
    this.changed = changed;
    this.said = said;
    this.toChoose = toChoose;
  }

  /** Reads this worker's events from the next {@link open} on. @param {string | null} worker */
  of(worker) {
    if (worker === this.worker) return;
    this.worker = worker;
    this.changes = NOTHING_CHANGES;
    this.#forget();
    this.changed();
  }

  open() {
    this.#connect(this.worker);
  }

  /** @param {string | null} worker null asks whom there is, where there are several */
  #connect(worker) {
    this.close();
    const source = new EventSource("events" + whose(worker));
    this.#source = source;
    /** @type {Process} */
    let process;
    source.addEventListener("process", (event) => {
      process = JSON.parse(event.data);
    });
    source.addEventListener("workers", (event) => {
      this.close();
      this.toChoose(process, JSON.parse(event.data));
    });
    source.addEventListener("begin", (event) => this.#begin(JSON.parse(event.data)));
    source.addEventListener("moment", (event) => this.#take(JSON.parse(event.data)));
    source.addEventListener("end", () => this.said("the worker stops", true));
    source.addEventListener("error", () => this.#lost(source));
  }

  close() {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = null;
  }

  /** The browser asks again by itself, unless it was refused. @param {EventSource} source */
  #lost(source) {
    if (source !== this.#source) return;
    if (source.readyState !== EventSource.CLOSED) {
      this.said("no connection; asking again", true);
      return;
    }
    this.said("refused: it is down, or too many pages are open; asking again", true);
    this.#retry = window.setTimeout(() => this.#connect(null), RETRY_MILLIS); // it may be none any more
  }

  /** @param {{fields: string[], uses: string[], changes: Changes}} begin */
  #begin(begin) {
    this.#fields = begin.fields;
    this.uses = begin.uses;
    this.changes = begin.changes;
    this.#forget();
  }

  #forget() {
    this.models.clear();
    this.had.clear();
    this.seconds = [];
    this.last = null;
  }

  /** @param {Moment} moment */
  #take(moment) {
    const before = this.last;
    /** @type {Second} */
    const second = {
      from: before ? before.at : moment.at,
      at: moment.at,
      device: {},
      compute: new Map(),
      rows: 0,
      paddingRows: 0,
      runs: spans(moment, moment.runs),
      unseenRuns: 0,
      loads: spans(moment, moment.loads),
    };
    for (const use of this.uses) {
      second.device[use] = before ? Math.max(0, moment.device[use] - before.device[use]) : 0;
    }
    if (moment.runs && moment.loads) {
      const ever = before ? moment.runs.ever - this.#ever.runs : 0;
      second.unseenRuns = Math.max(0, ever - second.runs.length);
      this.#ever = { runs: moment.runs.ever, loads: moment.loads.ever };
    }
    for (const name of moment.gone) this.models.delete(name);
    for (const row of moment.models) this.#takeModel(row, second);
    this.last = moment;
    this.seconds.push(second);
    if (this.seconds.length > KEPT_SECONDS) this.seconds.shift();
    this.#share();
    const left = moment.left > 0 ? `; ${moment.left} models are not up to date yet` : "";
    const wrong = moment.unknownBecause ?? unready(moment);
    this.said((wrong ?? "live") + left, wrong !== null);
    this.changed();
  }

  /** @param {any[]} row @param {Second} second */
  #takeModel(row, second) {
    /** @type {any} */
    const fresh = {};
    this.#fields.forEach((field, i) => {
      fresh[field] = row[i];
    });
    /** @type {Model} */
    const model = fresh;
    const old = this.models.get(model.name);
    if (old) {
      const ran = model.computeMicros - old.computeMicros;
      if (ran > 0) second.compute.set(model.name, ran);
      second.rows += model.rows - old.rows;
      second.paddingRows += model.paddingRows - old.paddingRows;
    }
    this.models.set(model.name, model);
  }

  #share() {
    this.had.clear();
    let all = 0;
    for (const second of this.seconds.slice(-SHARE_SECONDS)) {
      for (const [name, micros] of second.compute) {
        this.had.set(name, (this.had.get(name) ?? 0) + micros);
        all += micros;
      }
    }
    for (const [name, micros] of this.had) this.had.set(name, micros / all);
  }
}

/** Why it gets no new work; null when it does, and when it is older and does not say. @param {Moment} moment */
function unready({ ready, draining }) {
  if (draining) return "drained: it says that it is not ready, and serves what still comes";
  return ready === false ? "not ready" : null;
}

/**
 * @param {Moment} moment
 * @param {{spans: [string, number, number][]} | undefined} told
 * @returns {Span[]}
 */
function spans(moment, told) {
  return (told?.spans ?? []).map(([model, ago, took]) => {
    const end = moment.at - ago / 1000;
    return { model, start: end - took / 1000, end };
  });
}
