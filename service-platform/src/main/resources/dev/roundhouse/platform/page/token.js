// @ts-check
/** Asks the port for changes, with the operator's token once the port has wanted one. */

const UNAUTHENTICATED = 401;

/** Keeps a token for as long as the page is open, and nowhere but in its memory. */
export class Bearer {
  #token = "";
  /** @type {((token: string | null) => void) | null} */
  #entered = null;

  /** @param {{dialog: HTMLDialogElement, wanted: HTMLElement, token: HTMLInputElement, yes: HTMLElement, no: HTMLElement}} parts */
  constructor(parts) {
    this.parts = parts;
    parts.yes.addEventListener("click", () => this.#over(parts.token.value.trim()));
    parts.no.addEventListener("click", () => this.#over(null));
    parts.dialog.addEventListener("cancel", () => this.#over(null));
  }

  /**
   * Asks for a change, again with a token when the port wants one.
   *
   * @param {string} path
   * @param {object} change
   */
  async post(path, change) {
    let answer = await this.#post(path, change);
    while (answer.status === UNAUTHENTICATED) {
      const { error } = await answer.clone().json();
      const token = await this.#ask(error ?? "a token is wanted");
      if (token === null) return answer;
      this.#token = token;
      answer = await this.#post(path, change);
    }
    return answer;
  }

  /** @param {string} path @param {object} change */
  #post(path, change) {
    /** @type {Record<string, string>} */
    const headers = { "Content-Type": "application/json" };
    if (this.#token !== "") headers.Authorization = `Bearer ${this.#token}`;
    return fetch(path, { method: "POST", headers, body: JSON.stringify(change) });
  }

  /** @param {string} why @returns {Promise<string | null>} */
  #ask(why) {
    this.#over(null); // one question at a time
    this.parts.wanted.textContent = why;
    this.parts.token.value = "";
    this.parts.dialog.showModal();
    return new Promise((entered) => {
      this.#entered = entered;
    });
  }

  /** @param {string | null} token null for none */
  #over(token) {
    const entered = this.#entered;
    this.#entered = null;
    this.parts.token.value = "";
    this.parts.dialog.close();
    entered?.(token === "" ? null : token);
  }
}
