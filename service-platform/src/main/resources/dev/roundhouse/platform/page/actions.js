// @ts-check
/** What may be changed of the chosen model, each change confirmed before it is asked for. */

/** @typedef {import("./feed.js").Model} Model */
/** @typedef {{weight: boolean, pinned: boolean}} Allowed */

export class Actions {
  /** @type {Model | null} */
  #model = null;
  #shown = "";
  /** @type {(() => void) | null} */
  #confirmed = null;

  /**
   * @param {{place: HTMLElement, dialog: HTMLDialogElement, question: HTMLElement, entry: HTMLElement, amount: HTMLInputElement, yes: HTMLElement, no: HTMLElement, done: HTMLElement}} parts
   */
  constructor(parts) {
    this.parts = parts;
    parts.yes.addEventListener("click", () => this.#confirm());
    parts.no.addEventListener("click", () => parts.dialog.close());
  }

  /** @param {Model | null} model @param {Allowed} allowed */
  show(model, allowed) {
    this.#model = model;
    const offered = model !== null && model.state === "ready" && model.weight !== null;
    const shown = offered ? `${model.name} ${model.pinned} ${allowed.weight} ${allowed.pinned}` : "";
    if (shown === this.#shown) return; // a button that has the focus stays
    this.#shown = shown;
    this.parts.done.textContent = "";
    const buttons = [];
    if (offered && allowed.weight) {
      buttons.push(button("Change weight", () => this.#askForWeight()));
    }
    if (offered && allowed.pinned) {
      const title = model.pinned ? "Let its weights leave the device" : "Keep its weights on the device";
      buttons.push(button(title, () => this.#askForPin()));
    }
    this.parts.place.replaceChildren(...buttons);
  }

  #askForWeight() {
    const model = this.#model;
    if (!model) return;
    const { amount } = this.parts;
    amount.value = String(model.weight);
    this.#ask(`Change the weight of '${model.name}', which is ${model.weight}, until the worker stops?`, true, () => {
      void this.#post(`models/${encodeURIComponent(model.name)}`, { weight: Number(amount.value) });
    });
  }

  #askForPin() {
    const model = this.#model;
    if (!model) return;
    const question = model.pinned
      ? `Let the weights of '${model.name}' leave the device for others'?`
      : `Keep the weights of '${model.name}' on the device? Others have less room then.`;
    this.#ask(question, false, () => {
      void this.#post(`residency/${encodeURIComponent(model.name)}`, { pinned: !model.pinned });
    });
  }

  /** @param {string} question @param {boolean} amount @param {() => void} then */
  #ask(question, amount, then) {
    this.parts.question.textContent = question;
    this.parts.entry.hidden = !amount;
    this.#confirmed = then;
    this.parts.dialog.showModal();
  }

  #confirm() {
    if (!this.parts.entry.hidden && !this.parts.amount.reportValidity()) return;
    this.parts.dialog.close();
    this.#confirmed?.();
    this.#confirmed = null;
  }

  /** @param {string} path @param {object} change */
  async #post(path, change) {
    const { done } = this.parts;
    done.textContent = "asked for";
    try {
      const answer = await fetch(`../actuator/${path}`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(change),
      });
      const told = await answer.json();
      done.textContent = answer.ok ? `done: ${JSON.stringify(told)}` : told.error;
    } catch (error) {
      done.textContent = `not done: ${error instanceof Error ? error.message : error}`;
    }
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
