// @ts-check
/** What only /actuator/models tells of the chosen model: its programs, latency, errors and evictions. */
import { whose } from "./address.js";
import { count, percent, time } from "./format.js";
import { Latency } from "./latency.js";

/**
 * @typedef {object} Program
 * @property {number} variant
 * @property {number} batchSize
 * @property {number} meanMicros
 * @property {number} highMicros
 * @property {number} runs
 * @property {number | null} meanFill
 */

/** @typedef {{model: string | null, secondsAgo: number}} Evicted */

/**
 * @typedef {object} NotAnswered
 * @property {string} how
 * @property {string} reason
 * @property {number} requests
 * @property {string} words
 * @property {{key: string, value: number | null}[]} settings
 */

/**
 * @typedef {object} History
 * @property {import("./latency.js").Times[]} answers
 * @property {import("./latency.js").Times[]} waits
 * @property {NotAnswered[]} notAnswered
 * @property {Evicted[] | null} madeRoomFor
 * @property {Evicted[] | null} tookRoomOf
 */

/**
 * @typedef {object} Details
 * @property {Program[]} programs
 * @property {History | null=} history
 */

const MOST_EVICTED = 5;

const EVERY_MILLIS = 5000;

/** @type {[string, (program: Program) => string][]} */
const COLUMNS = [
  ["Variant", (each) => String(each.variant)],
  ["Rows", (each) => String(each.batchSize || 1)],
  ["A run takes", (each) => (each.meanMicros ? time(each.meanMicros) : "")],
  ["95 of 100 within", (each) => (each.highMicros ? time(each.highMicros) : "")],
  ["Runs", (each) => count(each.runs)],
  ["Filled", (each) => percent(each.meanFill)],
];

export class ModelFacts {
  /** @type {string | null} */
  #name = null;
  /** @type {number | undefined} */
  #again;
  #latency = new Latency();

  /** @param {HTMLElement} place @param {() => string | null} worker whose model it is, where there are several */
  constructor(place, worker) {
    this.place = place;
    this.worker = worker;
  }

  /** @param {string | null} name */
  show(name) {
    if (name === this.#name) return;
    this.#name = name;
    this.#latency = new Latency();
    this.place.replaceChildren();
    clearTimeout(this.#again);
    if (name !== null) void this.#ask(name);
  }

  /** Asks, and again a while after the answer, until another model is chosen. @param {string} name */
  async #ask(name) {
    try {
      if (!document.hidden) {
        const answer = await fetch(`../actuator/models/${encodeURIComponent(name)}${whose(this.worker())}`);
        const told = await answer.json();
        if (name !== this.#name) return;
        if (!answer.ok) throw new Error(told.error ?? `answered ${answer.status}`);
        this.#draw(name, told.models ? told.models[0] : told);
      }
    } catch (error) {
      if (name !== this.#name) return;
      this.place.replaceChildren(text("p", `programs of '${name}': ${error instanceof Error ? error.message : error}`));
    }
    this.#again = window.setTimeout(() => void this.#ask(name), EVERY_MILLIS);
  }

  /** @param {string} name @param {Details | undefined} model */
  #draw(name, model) {
    if (!model) {
      this.place.replaceChildren();
      return;
    }
    const parts = model.history ? this.#history(model.history) : [];
    if (model.programs.length > 0) parts.push(table(name, model.programs));
    this.place.replaceChildren(...parts);
  }

  /** @param {History} history @returns {HTMLElement[]} */
  #history(history) {
    return [
      this.#latency.words(history, performance.now()),
      ...history.notAnswered.map(unanswered),
      evicted("its weights left the device for", history.madeRoomFor),
      evicted("others left the device for its weights:", history.tookRoomOf),
    ]
      .filter(Boolean)
      .map((each) => text("p", each));
  }
}

/** @param {NotAnswered} of */
function unanswered({ how, reason, requests, words, settings }) {
  const keys = settings.map(({ key, value }) => (value === null ? key : `${key}, now ${value}`));
  const which = keys.length === 0 ? "" : ` (${keys.join("; ")})`;
  return `${count(requests)} ${how}${reason && ": "}${reason}: ${words}${which}`;
}

/** The latest first. @param {string} what @param {Evicted[] | null} of */
function evicted(what, of) {
  if (of === null || of.length === 0) return "";
  const each = of.slice(-MOST_EVICTED).reverse();
  const named = each.map(({ model, secondsAgo }) => `${model === null ? "an operator" : `'${model}'`} ${time(secondsAgo * 1e6)} ago`);
  const more = of.length > each.length ? `, and ${count(of.length - each.length)} times before` : "";
  return `${what} ${named.join(", ")}${more}`;
}

/** @param {string} name @param {Program[]} programs */
function table(name, programs) {
  const made = document.createElement("table");
  made.append(text("caption", `Programs of ${name}`));
  const head = made.createTHead().insertRow();
  for (const [title] of COLUMNS) {
    const cell = text("th", title);
    cell.setAttribute("scope", "col");
    head.append(cell);
  }
  const body = made.createTBody();
  for (const program of programs) {
    const row = body.insertRow();
    for (const [, shown] of COLUMNS) row.append(text("td", shown(program)));
  }
  return made;
}

/** @param {string} kind @param {string} shown */
function text(kind, shown) {
  const made = document.createElement(kind);
  made.textContent = shown;
  return made;
}
