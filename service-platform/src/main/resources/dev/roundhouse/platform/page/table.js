// @ts-check
/** A table that is sorted, filtered and used by keys. However many rows there are, only those in sight are elements. */
import { colour, count } from "./format.js";

/**
 * @template R
 * @typedef {object} Column
 * @property {string} kind of its cells, as the style sheet knows it
 * @property {string} title
 * @property {string} help
 * @property {(row: R) => string | number} by what rows are sorted by
 * @property {(row: R) => string} text
 * @property {boolean} down whether the first choice is the largest first
 * @property {((row: R) => boolean)=} bad whether it is shown as a fault
 */

/**
 * @template R
 * @typedef {object} Settings
 * @property {string} many what its rows are called
 * @property {Column<R>[]} columns
 * @property {number} sorted by which column at first
 * @property {(row: R) => string} name unique
 * @property {(row: R) => string} words that the filter looks in
 * @property {(row: R | null) => void} chosen told of the chosen row each time that it is drawn
 * @property {((row: R) => void)=} opened told of a click or Enter; else a click only chooses
 */

const SPARE_ROWS = 6;

/** @template R */
export class Table {
  /** @type {Column<R>} */
  #sorted;
  #down;
  /** @type {R[]} all of them */
  #all = [];
  /** @type {R[]} those that are shown, in order */
  #rows = [];
  /** @type {string | null} */
  #chosen = null;
  /** @type {HTMLElement[]} */
  #pool = [];
  #words = "";

  /**
   * @param {{table: HTMLElement, filter: HTMLInputElement, shown: HTMLElement}} parts
   * @param {Settings<R>} settings
   */
  constructor(parts, settings) {
    this.parts = parts;
    this.settings = settings;
    this.#sorted = settings.columns[settings.sorted];
    this.#down = this.#sorted.down;
    this.head = box("head", "row");
    this.body = box("body", "rowgroup");
    this.height = box("height", "presentation");
    this.body.append(this.height);
    parts.table.append(this.head, this.body);
    this.#makeHead();
    this.body.addEventListener("scroll", () => this.#draw());
    parts.table.addEventListener("keydown", (event) => this.#key(event));
    parts.table.setAttribute("aria-colcount", String(settings.columns.length));
    parts.filter.addEventListener("input", () => this.#filter(parts.filter.value));
    new ResizeObserver(() => this.#draw()).observe(this.body);
  }

  /** @param {R[]} rows */
  show(rows) {
    this.#all = rows;
    this.#sort();
  }

  /** Chooses the row of this name, where there is one, and brings it into sight. @param {string} name */
  choose(name) {
    const index = this.#rows.findIndex((row) => this.settings.name(row) === name);
    if (index < 0) return false;
    this.#bringIntoSight(index);
    this.#choose(name);
    return true;
  }

  /** @param {string} words all of which a row must have */
  #filter(words) {
    this.#words = words.toLowerCase();
    this.body.scrollTop = 0;
    this.#sort();
  }

  #makeHead() {
    for (const column of this.settings.columns) {
      const cell = box(column.kind, "columnheader");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = column.title;
      button.title = column.help;
      button.addEventListener("click", () => this.#sortBy(column));
      cell.append(button);
      this.head.append(cell);
    }
    this.#markHead();
  }

  /** @param {Column<R>} column */
  #sortBy(column) {
    this.#down = column === this.#sorted ? !this.#down : column.down;
    this.#sorted = column;
    this.#markHead();
    this.#sort();
  }

  #markHead() {
    this.settings.columns.forEach((column, i) => {
      const cell = this.head.children[i];
      const sort = column !== this.#sorted ? "none" : this.#down ? "descending" : "ascending";
      cell.setAttribute("aria-sort", sort);
      const mark = { none: "", descending: " ▾", ascending: " ▴" }[sort];
      /** @type {Element} */ (cell.firstElementChild).textContent = column.title + mark;
    });
  }

  #sort() {
    const { name, words, many } = this.settings;
    const wanted = this.#words.split(/\s+/).filter(Boolean);
    const keyed = [];
    for (const row of this.#all) {
      const text = wanted.length ? words(row).toLowerCase() : "";
      if (wanted.every((word) => text.includes(word))) keyed.push({ row, name: name(row), key: this.#sorted.by(row) });
    }
    const sign = this.#down ? -1 : 1;
    keyed.sort((a, b) => (a.key < b.key ? -sign : a.key > b.key ? sign : a.name < b.name ? -1 : 1));
    this.#rows = keyed.map((each) => each.row);
    const all = this.#all.length;
    this.parts.shown.textContent =
      keyed.length === all ? `${count(all)} ${many}` : `${count(keyed.length)} of ${count(all)} ${many}`;
    this.parts.table.setAttribute("aria-rowcount", String(keyed.length + 1));
    this.#draw();
    this.#tell();
  }

  #rowHeight() {
    return this.head.offsetHeight || 30;
  }

  #draw() {
    const { body, height } = this;
    const each = this.#rowHeight();
    height.style.height = `${each * this.#rows.length}px`;
    const first = Math.max(0, Math.floor(body.scrollTop / each) - SPARE_ROWS);
    const needed = Math.ceil(body.clientHeight / each) + 2 * SPARE_ROWS;
    const last = Math.min(this.#rows.length, first + needed);
    while (this.#pool.length < last - first) this.#pool.push(this.#makeRow());
    this.#pool.forEach((row, i) => {
      row.hidden = first + i >= last;
      row.style.display = row.hidden ? "none" : "";
      if (!row.hidden) this.#fill(row, this.#rows[first + i], first + i, each);
    });
    const chosen = this.#pool.find((row) => !row.hidden && row.classList.contains("chosen"));
    if (chosen) this.parts.table.setAttribute("aria-activedescendant", chosen.id);
    else this.parts.table.removeAttribute("aria-activedescendant");
  }

  #makeRow() {
    const row = box("", "row");
    row.id = `${this.parts.table.id}-row-${this.#pool.length}`;
    for (const column of this.settings.columns) row.append(box(column.kind, "gridcell"));
    row.addEventListener("click", () => {
      this.#choose(row.dataset.name ?? null);
      this.#open();
    });
    this.body.append(row);
    return row;
  }

  /** @param {HTMLElement} element @param {R} row @param {number} index @param {number} height */
  #fill(element, row, index, height) {
    const name = this.settings.name(row);
    element.style.top = `${index * height}px`;
    element.dataset.name = name;
    element.setAttribute("aria-rowindex", String(index + 2));
    const chosen = name === this.#chosen;
    element.classList.toggle("chosen", chosen);
    element.setAttribute("aria-selected", String(chosen));
    element.style.setProperty("--own", colour(name));
    this.settings.columns.forEach((column, i) => {
      const cell = /** @type {HTMLElement} */ (element.children[i]);
      const text = column.text(row);
      if (cell.textContent !== text) {
        cell.textContent = text;
        cell.title = text;
      }
      if (column.bad) cell.classList.toggle("failed", column.bad(row));
    });
  }

  /** @param {string | null} name */
  #choose(name) {
    this.#chosen = name;
    this.#draw();
    this.#tell();
  }

  #chosenRow() {
    return this.#all.find((row) => this.settings.name(row) === this.#chosen) ?? null;
  }

  #tell() {
    this.settings.chosen(this.#chosenRow());
  }

  #open() {
    const row = this.#chosenRow();
    if (row !== null) this.settings.opened?.(row);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.target !== this.parts.table) return;
    const page = Math.max(1, Math.floor(this.body.clientHeight / this.#rowHeight()) - 1);
    const at = this.#rows.findIndex((row) => this.settings.name(row) === this.#chosen);
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
    } else if (event.key === "Enter") {
      this.#open();
    } else if (event.key in to && this.#rows.length > 0) {
      const index = Math.min(this.#rows.length - 1, Math.max(0, to[event.key]));
      this.#bringIntoSight(index);
      this.#choose(this.settings.name(this.#rows[index]));
    } else {
      return;
    }
    event.preventDefault();
  }

  /** @param {number} index */
  #bringIntoSight(index) {
    const { body } = this;
    const height = this.#rowHeight();
    const top = index * height;
    if (top < body.scrollTop) body.scrollTop = top;
    if (top + height > body.scrollTop + body.clientHeight) {
      body.scrollTop = top + height - body.clientHeight;
    }
  }
}

/** @param {string} kind @param {string} role */
function box(kind, role) {
  const made = document.createElement("div");
  made.className = kind;
  made.setAttribute("role", role);
  return made;
}
