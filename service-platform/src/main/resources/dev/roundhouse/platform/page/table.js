// @ts-check
/** The table of models. However many there are, only the rows in sight are elements. */
import { bytes, colour, count, percent, time, until } from "./format.js";

/** @typedef {import("./feed.js").Model} Model */
/** @typedef {import("./feed.js").Feed} Feed */

/**
 * @typedef {object} Column
 * @property {string} kind of its cells, as the style sheet knows it
 * @property {string} title
 * @property {string} help
 * @property {(model: Model, feed: Feed) => string | number} by what rows are sorted by
 * @property {(model: Model, feed: Feed) => string} text
 * @property {boolean} down whether the first choice is the largest first
 */

/** @type {Column[]} */
const COLUMNS = [
  { kind: "name", title: "Model", help: "name", by: (m) => m.name, text: (m) => m.name, down: false },
  { kind: "stateof", title: "State", help: "life cycle", by: (m) => m.state, text: (m) => m.state, down: false },
  { kind: "number queue", title: "Queue", help: "requests that have not begun to run", by: (m) => m.queued, text: (m) => (m.queued ? count(m.queued) : ""), down: true },
  { kind: "number due", title: "Due", help: "share of the device by its weight, while it wants some", by: (m) => m.due ?? -1, text: (m) => percent(m.due), down: true },
  { kind: "number had", title: "Had", help: "share of the device time of the last 10 s", by: (m, feed) => feed.had.get(m.name) ?? -1, text: (m, feed) => percent(feed.had.get(m.name) ?? null), down: true },
  { kind: "place", title: "Place", help: "where its weights are", by: (m) => m.place, text: (m) => (m.pinned ? `${m.place}, pinned` : m.place), down: false },
  { kind: "number next", title: "Next use", help: "in how long it is expected to be used", by: (m) => m.nextUseSeconds ?? Infinity, text: (m) => until(m.nextUseSeconds), down: false },
  { kind: "reason", title: "Why it waits", help: "what has to happen before its requests run", by: (m) => m.waitedMicros ?? (m.words ? 0 : -1), text: (m) => m.words || m.reason, down: true },
];

const SPARE_ROWS = 6;

export class Table {
  #sorted = COLUMNS[2];
  #down = true;
  /** @type {Model[]} */
  #rows = [];
  /** @type {string | null} */
  #chosen = null;
  /** @type {Feed | null} */
  #feed = null;
  /** @type {HTMLElement[]} */
  #pool = [];
  #filter = "";

  /**
   * @param {(model: Model | null) => void} chosen
   * @param {{table: HTMLElement, head: HTMLElement, body: HTMLElement, height: HTMLElement, shown: HTMLElement, details: HTMLElement}} parts
   */
  constructor(chosen, parts) {
    this.chosen = chosen;
    this.parts = parts;
    this.#makeHead();
    parts.body.addEventListener("scroll", () => this.#draw());
    parts.table.addEventListener("keydown", (event) => this.#key(event));
    parts.table.setAttribute("aria-colcount", String(COLUMNS.length));
    new ResizeObserver(() => this.#draw()).observe(parts.body);
  }

  /** @param {Feed} feed */
  show(feed) {
    this.#feed = feed;
    this.#sort();
  }

  /** @param {string} words all of which a row must have */
  filter(words) {
    this.#filter = words.toLowerCase();
    this.parts.body.scrollTop = 0;
    this.#sort();
  }

  #makeHead() {
    COLUMNS.forEach((column) => {
      const cell = document.createElement("div");
      cell.className = column.kind;
      cell.setAttribute("role", "columnheader");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = column.title;
      button.title = column.help;
      button.addEventListener("click", () => this.#sortBy(column));
      cell.append(button);
      this.parts.head.append(cell);
    });
    this.#markHead();
  }

  /** @param {Column} column */
  #sortBy(column) {
    this.#down = column === this.#sorted ? !this.#down : column.down;
    this.#sorted = column;
    this.#markHead();
    this.#sort();
  }

  #markHead() {
    COLUMNS.forEach((column, i) => {
      const cell = this.parts.head.children[i];
      const sort = column !== this.#sorted ? "none" : this.#down ? "descending" : "ascending";
      cell.setAttribute("aria-sort", sort);
      const mark = { none: "", descending: " ▾", ascending: " ▴" }[sort];
      /** @type {Element} */ (cell.firstElementChild).textContent = column.title + mark;
    });
  }

  #sort() {
    const feed = this.#feed;
    if (!feed) return;
    const words = this.#filter.split(/\s+/).filter(Boolean);
    const keyed = [];
    for (const model of feed.models.values()) {
      const text = words.length
        ? `${model.name} ${model.state} ${model.place} ${model.why} ${model.words} ${model.reason}`.toLowerCase()
        : "";
      if (words.every((word) => text.includes(word))) {
        keyed.push({ model, key: this.#sorted.by(model, feed) });
      }
    }
    const sign = this.#down ? -1 : 1;
    keyed.sort((a, b) =>
      a.key < b.key ? -sign : a.key > b.key ? sign : a.model.name < b.model.name ? -1 : 1,
    );
    this.#rows = keyed.map((each) => each.model);
    const all = feed.models.size;
    this.parts.shown.textContent =
      keyed.length === all ? `${count(all)} models` : `${count(keyed.length)} of ${count(all)} models`;
    this.parts.table.setAttribute("aria-rowcount", String(keyed.length + 1));
    this.#draw();
    this.#detail();
  }

  #rowHeight() {
    return this.parts.head.offsetHeight || 30;
  }

  #draw() {
    const feed = this.#feed;
    if (!feed) return;
    const { body, height } = this.parts;
    const each = this.#rowHeight();
    height.style.height = `${each * this.#rows.length}px`;
    const first = Math.max(0, Math.floor(body.scrollTop / each) - SPARE_ROWS);
    const needed = Math.ceil(body.clientHeight / each) + 2 * SPARE_ROWS;
    const last = Math.min(this.#rows.length, first + needed);
    while (this.#pool.length < last - first) this.#pool.push(this.#makeRow());
    this.#pool.forEach((row, i) => {
      const model = this.#rows[first + i];
      row.hidden = first + i >= last;
      row.style.display = row.hidden ? "none" : "";
      if (!row.hidden) this.#fill(row, model, first + i, each, feed);
    });
    const chosen = this.#pool.find((row) => !row.hidden && row.classList.contains("chosen"));
    if (chosen) this.parts.table.setAttribute("aria-activedescendant", chosen.id);
    else this.parts.table.removeAttribute("aria-activedescendant");
  }

  #makeRow() {
    const row = document.createElement("div");
    row.id = `row-${this.#pool.length}`;
    row.setAttribute("role", "row");
    for (const column of COLUMNS) {
      const cell = document.createElement("div");
      cell.className = column.kind;
      cell.setAttribute("role", "gridcell");
      row.append(cell);
    }
    row.addEventListener("click", () => this.#choose(row.dataset.model ?? null));
    this.parts.body.append(row);
    return row;
  }

  /**
   * @param {HTMLElement} row
   * @param {Model} model
   * @param {number} index
   * @param {number} height
   * @param {Feed} feed
   */
  #fill(row, model, index, height, feed) {
    row.style.top = `${index * height}px`;
    row.dataset.model = model.name;
    row.setAttribute("aria-rowindex", String(index + 2));
    const chosen = model.name === this.#chosen;
    row.classList.toggle("chosen", chosen);
    row.setAttribute("aria-selected", String(chosen));
    row.style.setProperty("--own", colour(model.name));
    COLUMNS.forEach((column, i) => {
      const cell = /** @type {HTMLElement} */ (row.children[i]);
      const text = column.text(model, feed);
      if (cell.textContent !== text) {
        cell.textContent = text;
        cell.title = text;
      }
      if (column.kind === "stateof") cell.classList.toggle("failed", model.state === "failed");
    });
  }

  /** @param {string | null} name */
  #choose(name) {
    this.#chosen = name;
    this.#draw();
    this.#detail();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.target !== this.parts.table) return;
    const page = Math.max(1, Math.floor(this.parts.body.clientHeight / this.#rowHeight()) - 1);
    const at = this.#rows.findIndex((model) => model.name === this.#chosen);
    /** @type {Record<string, number>} */
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at < 0 ? 0 : at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: this.#rows.length - 1,
    };
    if (event.key === "Escape") {
      this.#choose(null);
    } else if (event.key in to && this.#rows.length > 0) {
      const index = Math.min(this.#rows.length - 1, Math.max(0, to[event.key]));
      this.#bringIntoSight(index);
      this.#choose(this.#rows[index].name);
    } else {
      return;
    }
    event.preventDefault();
  }

  /** @param {number} index */
  #bringIntoSight(index) {
    const { body } = this.parts;
    const height = this.#rowHeight();
    const top = index * height;
    if (top < body.scrollTop) body.scrollTop = top;
    if (top + height > body.scrollTop + body.clientHeight) {
      body.scrollTop = top + height - body.clientHeight;
    }
  }

  /** All that is known of the chosen model, which narrow screens have no columns for. */
  #detail() {
    const model = this.#chosen === null ? undefined : this.#feed?.models.get(this.#chosen);
    if (!model || !this.#feed) {
      this.parts.details.replaceChildren();
      this.chosen(null);
      return;
    }
    this.chosen(model);
    const padded = model.rows + model.paddingRows;
    /** @type {[string, string, boolean][]} */
    const facts = [
      ["Model", `${model.name}, version ${model.version}, ${model.state}`, true],
      ["Why it waits", model.words, true],
      ["Reason", model.reason, true],
      ["Queue", count(model.queued), false],
      ["Waited", time(model.waitedMicros), false],
      ["About", model.inMicros === null ? "" : `${time(model.inMicros)} more`, false],
      ["Weight", model.weight === null ? "" : String(model.weight), false],
      ["Due", percent(model.due), false],
      ["Had", percent(this.#feed.had.get(model.name) ?? 0), false],
      ["Place", model.pinned ? `${model.place}, pinned` : model.place, false],
      ["On the device", bytes(model.deviceBytes), false],
      ["Next use", `${model.nextUseSeconds ? "in about " : ""}${until(model.nextUseSeconds)}`, false],
      ["Loads", count(model.loads), false],
      ["Evictions", count(model.evictions), false],
      ["Answered", count(model.completed), false],
      ["Failed", count(model.failed), false],
      ["Shed", count(model.shed), false],
      ["Refused", count(model.refused), false],
      ["Runs", count(model.runs), false],
      ["Rows of a run", model.runs ? (model.rows / model.runs).toFixed(1) : "", false],
      ["Padding", padded ? percent(model.paddingRows / padded) : "", false],
      ["A run takes", model.runs ? time(model.computeMicros / model.runs) : "", false],
    ];
    this.parts.details.replaceChildren(
      ...facts
        .filter(([, text]) => text !== "")
        .map(([title, text, wide]) => {
          const fact = document.createElement("div");
          fact.className = wide ? "wide" : "";
          const term = document.createElement("dt");
          term.textContent = title;
          const said = document.createElement("dd");
          said.textContent = text;
          fact.append(term, said);
          return fact;
        }),
    );
  }
}
