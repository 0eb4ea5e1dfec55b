// @ts-check
/** Has the worker record itself with Flight Recorder, where it allows that, and saves what it answers. */
import { whose } from "./address.js";
import { saveAs } from "./trace.js";

const SECONDS = 10;

export class Recorder {
  /**
   * @param {HTMLButtonElement} button
   * @param {HTMLElement} told
   * @param {() => string | null} worker whose name the port is told; null where it has only one
   * @param {import("./token.js").Bearer} bearer
   */
  constructor(button, told, worker, bearer) {
    this.bearer = bearer;
    this.button = button;
    this.told = told;
    this.worker = worker;
    button.addEventListener("click", () => void this.#record());
  }

  /** @param {boolean} allowed */
  show(allowed) {
    this.button.hidden = !allowed;
  }

  async #record() {
    const worker = this.worker();
    this.button.disabled = true;
    this.told.textContent = `recording the next ${SECONDS} s`;
    try {
      const answer = await this.bearer.post(`../actuator/recording${whose(worker)}`, { seconds: SECONDS });
      if (answer.ok) saveAs(await answer.blob(), "jfr");
      this.told.textContent = answer.ok ? "" : (await answer.json()).error;
    } catch (error) {
      this.told.textContent = `not recorded: ${error instanceof Error ? error.message : error}`;
    } finally {
      this.button.disabled = false;
    }
  }
}
