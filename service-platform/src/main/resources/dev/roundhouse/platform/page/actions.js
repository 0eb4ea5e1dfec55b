// @ts-check
/** What may be changed of the chosen model and of the worker, each change confirmed before it is asked for. */
import { whose } from "./address.js";

/** @typedef {import("./feed.js").Model} Model */
/** @typedef {import("./feed.js").Changes} Changes */
/** @typedef {import("./repository.js").Repository} Repository */
/** @typedef {import("./token.js").Bearer} Bearer */

const ACCEPTED = 202;

/** The dialog that asks before a change, and what became of it. */
export class Confirmed {
  /** @type {(() => void) | null} */
  #then = null;

  /**
   * @param {{dialog: HTMLDialogElement, question: HTMLElement, entry: HTMLElement, amount: HTMLInputElement, yes: HTMLElement, no: HTMLElement}} parts
   * @param {() => string | null} worker whose page it is, where there are several
   * @param {Bearer} bearer
   */
  constructor(parts, worker, bearer) {
    this.parts = parts;
    this.worker = worker;
    this.bearer = bearer;
    parts.yes.addEventListener("click", () => this.#confirm());
    parts.no.addEventListener("click", () => parts.dialog.close());
  }

  /**
   * @param {string} question
   * @param {string} path of the endpoint
   * @param {object} change
   * @param {HTMLElement} done where it is said what became of it
   */
  ask(question, path, change, done) {
    const worker = this.worker(); // the one that the question names, whatever is chosen meanwhile
    this.#ask(question, false, () => void post(this.bearer, worker, path, change, done));
  }

  /** The same for a change to a number. @param {string} question @param {number} now @param {string} path @param {(amount: number) => object} change @param {HTMLElement} done */
  askForAmount(question, now, path, change, done) {
    const { amount } = this.parts;
    amount.value = String(now);
    const worker = this.worker();
    this.#ask(question, true, () => void post(this.bearer, worker, path, change(Number(amount.value)), done));
  }

  /** Where a change goes to, for the question. */
  where() {
    const worker = this.worker();
    return worker === null ? "this worker" : `worker '${worker}'`;
  }

  /** @param {string} question @param {boolean} amount @param {() => void} then */
  #ask(question, amount, then) {
    this.parts.question.textContent = question;
    this.parts.entry.hidden = !amount;
    this.#then = then;
    this.parts.dialog.showModal();
  }

  #confirm() {
    if (!this.parts.entry.hidden && !this.parts.amount.reportValidity()) return;
    this.parts.dialog.close();
    this.#then?.();
    this.#then = null;
  }
}

/**
 * Asks for a change, and says what became of it.
 *
 * @param {Bearer} bearer
 * @param {string | null} worker null where there is one only
 * @param {string} path of the endpoint
 * @param {object} change
 * @param {HTMLElement} done
 */
async function post(bearer, worker, path, change, done) {
  done.textContent = "asked for";
  try {
    const answer = await bearer.post(`../actuator/${path}${whose(worker)}`, change);
    const all = await answer.json();
    const told = (worker !== null && all.workers?.[worker]) || all; // a node and a gateway pass on what it said
    const how = answer.status === ACCEPTED ? "begun, and goes on" : "done";
    done.textContent = answer.ok ? `${how}: ${JSON.stringify(told)}` : (told.error ?? `answered ${answer.status}`);
  } catch (error) {
    done.textContent = `not done: ${error instanceof Error ? error.message : error}`;
  }
}

/** Of the chosen model. */
export class ModelActions {
  /** @type {Model | null} */
  #model = null;
  #shown = "";

  /** @param {HTMLElement} place @param {HTMLElement} done @param {Confirmed} confirmed @param {Repository} repository */
  constructor(place, done, confirmed, repository) {
    this.place = place;
    this.done = done;
    this.confirmed = confirmed;
    this.repository = repository;
  }

  /** @param {Model | null} model @param {Changes} allowed */
  show(model, allowed) {
    if (model?.name !== this.#model?.name) this.done.textContent = "";
    this.#model = model;
    const offered = model === null ? [] : this.#offered(model, allowed);
    const refusal = model !== null && allowed.loaded ? this.#refusal() : "";
    const shown = `${model?.name} ${offered.map(([title]) => title)} ${refusal}`;
    if (shown === this.#shown) return; // a button that has the focus stays
    this.#shown = shown;
    this.place.replaceChildren(...offered.map(([title, then]) => button(title, then)), ...(refusal ? [said(refusal)] : []));
  }

  /** @param {Model} model @param {Changes} allowed @returns {[string, () => void][]} */
  #offered(model, allowed) {
    const ready = model.state === "ready";
    const queues = ready && model.weight !== null;
    const loads = allowed.loaded && this.repository.mode === "explicit";
    /** @type {[boolean, string, () => void][]} */
    const all = [
      [queues && allowed.control, "Change weight", () => this.#askForWeight()],
      [queues && allowed.control, model.pinned ? "Let its weights leave the device" : "Keep its weights on the device", () => this.#askForPin()],
      [loads && (model.state === "unloaded" || model.state === "failed"), "Load", () => this.#askForLoad()],
      [loads && (ready || model.state === "failed"), "Unload", () => this.#askForUnload()],
    ];
    return all.filter(([offered]) => offered).map(([, title, then]) => [title, then]);
  }

  /** Why it can neither be loaded nor unloaded, though this port allows it. */
  #refusal() {
    const { mode } = this.repository;
    if (mode === "" || mode === "explicit") return "";
    return `What is loaded follows the files of ${this.confirmed.where()}: its roundhouse.worker.repository.mode is '${mode}', and loads are refused unless it is 'explicit'.`;
  }

  #askForWeight() {
    const model = this.#model;
    if (!model) return;
    this.confirmed.askForAmount(
      `Change the weight of '${model.name}' at ${this.confirmed.where()}, which is ${model.weight}, until the worker stops?`,
      model.weight ?? 1,
      `models/${encodeURIComponent(model.name)}`,
      (weight) => ({ weight }),
      this.done,
    );
  }

  #askForPin() {
    const model = this.#model;
    if (!model) return;
    const where = this.confirmed.where();
    const question = model.pinned
      ? `Let the weights of '${model.name}' leave the device of ${where} for others'?`
      : `Keep the weights of '${model.name}' on the device of ${where}? Others have less room then.`;
    this.confirmed.ask(question, `residency/${encodeURIComponent(model.name)}`, { pinned: !model.pinned }, this.done);
  }

  #askForLoad() {
    const model = this.#model;
    if (!model) return;
    const question = `Load '${model.name}' at ${this.confirmed.where()}, and what it calls that is not loaded?`;
    this.confirmed.ask(question, this.#path(model), { loaded: true }, this.done);
  }

  #askForUnload() {
    const model = this.#model;
    if (!model) return;
    const callers = this.repository.callers(model.name);
    const others =
      callers.length === 0
        ? "No loaded model calls it."
        : `Requests for what calls it are refused then too, unless that is unloaded as well: ${callers.join(", ")}.`;
    const question = `Unload '${model.name}' at ${this.confirmed.where()}? Its requests are refused until it is loaded again. ${others}`;
    this.confirmed.ask(question, this.#path(model), { loaded: false }, this.done);
  }

  /** @param {Model} model */
  #path(model) {
    return `repository/${encodeURIComponent(model.name)}`;
  }
}

/** Of the worker. */
export class WorkerActions {
  #shown = "";

  /** @param {HTMLElement} place @param {HTMLElement} done @param {Confirmed} confirmed */
  constructor(place, done, confirmed) {
    this.place = place;
    this.done = done;
    this.confirmed = confirmed;
  }

  /** @param {boolean | null} draining null while that is not known @param {Changes} allowed */
  show(draining, allowed) {
    const offered = draining !== null && allowed.control;
    const shown = offered ? `${this.confirmed.where()} ${draining}` : "";
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.place.replaceChildren(...(offered ? [button(draining ? "Serve again" : "Drain", () => this.#ask(!draining))] : []));
  }

  /** @param {boolean} draining */
  #ask(draining) {
    const where = this.confirmed.where();
    const question = draining
      ? `Drain ${where}? It says that it is not ready, so that gateways and load balancers send it nothing new. It serves what still comes.`
      : `Have ${where} serve again, as ready as it was before it was drained?`;
    this.confirmed.ask(question, "drain", { draining }, this.done);
  }
}

/** @param {string} title @param {() => void} then */
function button(title, then) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = title;
  made.addEventListener("click", then);
  return made;
}

/** @param {string} text */
function said(text) {
  const made = document.createElement("span");
  made.className = "none";
  made.textContent = text;
  return made;
}
