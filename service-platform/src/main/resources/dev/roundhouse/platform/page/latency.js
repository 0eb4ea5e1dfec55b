// @ts-check
/** How long a model's requests took in the last minute, from what is counted since the start. */
import { time } from "./format.js";

/** @typedef {{upToMicros: number, requests: number}} Times */
/** @typedef {{answers: Times[], waits: Times[]}} Reading */

const KEPT_MILLIS = 60_000;
const PARTS = [0.5, 0.99];

export class Latency {
  /** @type {{at: number, reading: Reading}[]} oldest first */
  #readings = [];

  /** One sentence; empty when no request has been answered. @param {Reading} reading @param {number} now */
  words(reading, now) {
    this.#readings.push({ at: now, reading });
    while (this.#readings.length > 2 && now - this.#readings[1].at > KEPT_MILLIS) this.#readings.shift();
    const first = this.#readings[0];
    const answers = since(reading.answers, first.reading.answers);
    if (count(answers) > 0) {
      const waits = since(reading.waits, first.reading.waits);
      return `${sentence(answers, waits)}, of the last ${time((now - first.at) * 1000)}`;
    }
    return count(reading.answers) > 0 ? `${sentence(reading.answers, reading.waits)}, since the start` : "";
  }
}

/** @param {Times[]} answers @param {Times[]} waits */
function sentence(answers, waits) {
  const waited = count(waits) > 0 ? `; in the queue: ${quantiles(waits)}` : "";
  return `answers: ${quantiles(answers)}${waited}`;
}

/** @param {Times[]} times */
function quantiles(times) {
  return PARTS.map((part) => `${100 * part} of 100 within ${time(within(times, part))}`).join(", ");
}

/** @param {Times[]} times */
function count(times) {
  return times.reduce((sum, each) => sum + each.requests, 0);
}

/** What came since an earlier reading. @param {Times[]} times @param {Times[]} before @returns {Times[]} */
function since(times, before) {
  const known = new Map(before.map((each) => [each.upToMicros, each.requests]));
  return times.map((each) => ({
    upToMicros: each.upToMicros,
    requests: Math.max(0, each.requests - (known.get(each.upToMicros) ?? 0)),
  }));
}

/** Within what so many of them were; too much by 9 % at most. @param {Times[]} times @param {number} part of 1 */
function within(times, part) {
  const wanted = part * count(times);
  let seen = 0;
  for (const each of times) {
    seen += each.requests;
    if (seen >= wanted && each.requests > 0) return each.upToMicros;
  }
  return null;
}
