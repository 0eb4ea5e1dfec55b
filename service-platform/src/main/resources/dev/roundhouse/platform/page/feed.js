// @ts-check
/** Reads the events and keeps what they told. */

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
  changes = { weight: false, pinned: false };
  /** Whether the worker lets itself be recorded. */
  recording = false;
  /** Whose events are read, where the page is of several. @type {string | null} */
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
   * @param {(names: string[]) => void} toChoose whom to read from, by {@link worker} and {@link open}
   */
  constructor(changed, said, toChoose) {
    this.changed = changed;
    this.said = said;
    this.toChoose = toChoose;
  }

  open() {
    this.close();
    const whose = this.worker === null ? "" : `?worker=${encodeURIComponent(this.worker)}`;
    const source = new EventSource("events" + whose);
    this.#source = source;
    source.addEventListener("workers", (event) => {
      this.close();
      this.#choose(JSON.parse(event.data));
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

  /** @param {string[]} names */
  #choose(names) {
    if (names.length > 0) {
      this.toChoose(names);
    } else {
      this.said("there are no workers", true);
      this.#askLater();
    }
  }

  /** The worker may be another's by then. */
  #askLater() {
    this.worker = null;
    this.#retry = window.setTimeout(() => this.open(), RETRY_MILLIS);
  }

  /** The browser asks again by itself, unless it was refused. @param {EventSource} source */
  #lost(source) {
    if (source !== this.#source) return;
    if (source.readyState !== EventSource.CLOSED) {
      this.said("no connection; asking again", true);
      return;
    }
    this.said("refused: it is down, or too many pages are open; asking again", true);
    this.#askLater();
  }

  /** @param {{fields: string[], uses: string[], changes: {weight: boolean, pinned: boolean}, recording: boolean}} begin */
  #begin(begin) {
    this.#fields = begin.fields;
    this.recording = begin.recording;
    this.uses = begin.uses;
    // at a node and a gateway a change is for all workers, and the page is one worker's
    this.changes = this.worker === null ? begin.changes : { weight: false, pinned: false };
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
    this.said((moment.unknownBecause ?? "live") + left, moment.unknownBecause !== null);
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
