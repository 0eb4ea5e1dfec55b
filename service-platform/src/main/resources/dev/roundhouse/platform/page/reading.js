// @ts-check
/** Reads a document of the operators' port again and again, until it is closed. */

const LEAST_MILLIS = 1000;

/** A process that is stopped, or whose network is gone, closes no connection. */
const ANSWER_MILLIS = 30_000;

/** What is large is read less often: reading takes a tenth of the time at most. */
const PARTS_OF_PAUSE = 9;

/** @template T */
export class ReadAgain {
  /** @type {number | undefined} */
  #timer;
  /** Which opening an answer is for. */
  #turn = 0;

  /**
   * @param {() => string} path
   * @param {(document: T, atMillis: number) => void} took told of each, with the time of the process that answered
   * @param {(why: string) => void} failed
   * @param {number} answerMillis how long an answer may take
   */
  constructor(path, took, failed, answerMillis = ANSWER_MILLIS) {
    this.path = path;
    this.took = took;
    this.failed = failed;
    this.answerMillis = answerMillis;
  }

  open() {
    this.close();
    void this.#read(this.#turn);
  }

  close() {
    clearTimeout(this.#timer);
    this.#turn++;
  }

  /** @param {number} turn */
  async #read(turn) {
    const began = performance.now();
    let parts = PARTS_OF_PAUSE;
    try {
      const answer = await fetch(this.path(), { signal: AbortSignal.timeout(this.answerMillis) });
      const told = await answer.json();
      if (turn !== this.#turn) return;
      if (!answer.ok) throw new Error(told.error ?? `answered ${answer.status}`);
      this.took(told, Date.parse(answer.headers.get("Date") ?? "") || Date.now());
    } catch (error) {
      if (turn !== this.#turn) return;
      this.failed(this.#why(error));
      parts = 0; // it may be back in a second
    }
    const pause = Math.max(LEAST_MILLIS, parts * (performance.now() - began));
    this.#timer = window.setTimeout(() => void this.#read(turn), pause);
  }

  /** @param {unknown} error */
  #why(error) {
    if (!(error instanceof Error)) return String(error);
    return error.name === "TimeoutError" ? `no answer within ${this.answerMillis / 1000} s` : error.message;
  }
}
