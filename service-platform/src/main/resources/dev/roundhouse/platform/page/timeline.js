// @ts-check
/**
 * The last minute: above, what part of each second the device ran, by model; below it single runs,
 * as far as they are told; at the bottom, loads of weights. When there are more runs than events
 * tell of, the seconds are still exact, and the single runs are the latest of each.
 */
import { colour, count, ink, time } from "./format.js";

/** @typedef {import("./feed.js").Feed} Feed */
/** @typedef {{x: number, y: number, width: number, height: number, text: string}} Box */

const WHOLE_MILLIS = 60_000;
const LEAST_MILLIS = 20;
const LEAST_HEIGHT = 0.25; // pixels of a model that is drawn by itself; others are one box
const KEPT_MILLIS = 120_000; // and a minute that is shown

export class Timeline {
  #span = WHOLE_MILLIS;
  /** How far the right end lies behind the latest event. */
  #back = 0;
  /** @type {Box[]} */
  #boxes = [];
  /** @type {Feed | null} */
  #feed = null;
  /** When it was stopped. @type {number | null} */
  #stoppedAt = null;

  /** @param {HTMLCanvasElement} canvas @param {HTMLElement} under */
  constructor(canvas, under) {
    this.canvas = canvas;
    this.under = under;
    canvas.addEventListener("pointermove", (event) => this.#tell(event));
    canvas.addEventListener("wheel", (event) => this.#turn(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** @param {Feed} feed */
  show(feed) {
    this.#feed = feed;
    this.draw();
  }

  /** While it is stopped, the picture stays where it is. @param {boolean} stopped */
  stop(stopped) {
    this.#stoppedAt = stopped ? (this.#feed?.last?.at ?? null) : null;
    this.draw();
  }

  /** @param {number} factor below 1 to see more of less @param {number} at 0 left, 1 right */
  zoom(factor, at = 1) {
    const span = Math.min(WHOLE_MILLIS, Math.max(LEAST_MILLIS, this.#span * factor));
    this.#move(this.#back + (1 - at) * (this.#span - span));
    this.#span = span;
    this.draw();
  }

  all() {
    this.#span = WHOLE_MILLIS;
    this.#back = 0;
    this.draw();
  }

  /** @param {number} back */
  #move(back) {
    this.#back = Math.min(KEPT_MILLIS, Math.max(0, back));
  }

  /** @param {WheelEvent} event */
  #turn(event) {
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = event.deltaX || event.deltaY;
      this.#move(this.#back - (by / this.canvas.clientWidth) * this.#span);
      this.draw();
    } else {
      this.zoom(Math.exp(event.deltaY / 400), event.offsetX / this.canvas.clientWidth);
    }
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      this.#move(this.#back + (event.key === "ArrowLeft" ? 0.1 : -0.1) * this.#span);
      this.draw();
    } else if (event.key === "+" || event.key === "-") {
      this.zoom(event.key === "+" ? 0.5 : 2);
    } else if (event.key === "0") {
      this.all();
    } else {
      return;
    }
    event.preventDefault();
  }

  /** @param {PointerEvent} event */
  #tell(event) {
    const at = this.#boxes.findLast(
      (box) =>
        event.offsetX >= box.x - 1 &&
        event.offsetX <= box.x + Math.max(2, box.width) &&
        event.offsetY >= box.y &&
        event.offsetY <= box.y + box.height,
    );
    this.under.textContent = at ? at.text : "";
  }

  draw() {
    const feed = this.#feed;
    const context = this.canvas.getContext("2d");
    if (!feed || !context) return;
    if (!feed.last) {
      context.clearRect(0, 0, this.canvas.width, this.canvas.height);
      return;
    }
    const width = this.canvas.clientWidth;
    const height = this.canvas.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    context.scale(ratio, ratio);
    context.clearRect(0, 0, width, height);
    this.#boxes = [];
    const end = (this.#stoppedAt ?? feed.last.at) - this.#back;
    const start = end - this.#span;
    const scale = width / this.#span;
    const text = 16;
    const rooms = height - 4 * text;
    const band = { top: text, height: rooms * 0.5 };
    const runs = { top: band.top + band.height + text, height: rooms * 0.25 };
    const loads = { top: runs.top + runs.height + text, height: rooms * 0.25 };
    context.font = `11px ${getComputedStyle(this.canvas).fontFamily}`;
    context.fillStyle = ink("--faint");
    context.fillText("device time of each second, by model", 4, band.top - 4);
    context.fillText("runs", 4, runs.top - 4);
    context.fillText("loads of weights", 4, loads.top - 4);
    let seen = 0;
    let unseen = 0;
    let loaded = 0;
    for (const second of feed.seconds) {
      if (second.at < start || second.from > end) continue;
      this.#drawSecond(context, second, { start, scale }, band);
      seen += second.runs.length;
      unseen += second.unseenRuns;
      loaded += second.loads.length;
      this.#drawSpans(context, second.runs, "ran for", { start, scale, width }, runs);
      this.#drawSpans(context, second.loads, "was loaded in", { start, scale, width }, loads);
    }
    this.#drawTimes(context, end, width, height);
    const missing = unseen > 0 ? `, of ${count(seen + unseen)}: the others are not shown singly` : "";
    this.canvas.setAttribute(
      "aria-label",
      `${time(this.#span * 1000)} of the device: ${count(seen)} runs${missing}; ${count(loaded)} loads of weights`,
    );
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("./feed.js").Second} second
   * @param {{start: number, scale: number}} view
   * @param {{top: number, height: number}} band
   */
  #drawSecond(context, second, view, band) {
    const x = (second.from - view.start) * view.scale;
    const width = Math.max(1, (second.at - second.from) * view.scale - 1);
    const whole = (second.at - second.from) * 1000;
    if (whole <= 0) return;
    let y = band.top + band.height;
    /** @param {number} micros @param {string} fill @param {string} name */
    const pile = (micros, fill, name) => {
      const height = Math.min(y - band.top, (band.height * micros) / whole);
      y -= height;
      context.fillStyle = fill;
      context.fillRect(x, y, width, height);
      this.#boxes.push({ x, y, width, height, text: `${name}: ${time(micros)} of this second` });
    };
    const least = (LEAST_HEIGHT * whole) / band.height;
    const largest = [...second.compute].sort((a, b) => b[1] - a[1]);
    const seen = largest.filter(([, micros]) => micros >= least);
    for (const [model, micros] of seen) pile(micros, colour(model), model);
    const rest = largest.slice(seen.length);
    if (rest.length > 0) {
      pile(rest.reduce((sum, [, micros]) => sum + micros, 0), ink("--faint"), `${count(rest.length)} more models`);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("./feed.js").Span[]} spans
   * @param {string} did
   * @param {{start: number, scale: number, width: number}} view
   * @param {{top: number, height: number}} room
   */
  #drawSpans(context, spans, did, view, room) {
    for (const span of spans) {
      const x = (span.start - view.start) * view.scale;
      const width = Math.max(1, (span.end - span.start) * view.scale);
      if (x + width < 0 || x > view.width) continue;
      context.fillStyle = colour(span.model);
      context.fillRect(x, room.top, width, room.height);
      const text = `${span.model} ${did} ${time((span.end - span.start) * 1000)}`;
      this.#boxes.push({ x, y: room.top, width, height: room.height, text });
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} end
   * @param {number} width
   * @param {number} height
   */
  #drawTimes(context, end, width, height) {
    context.fillStyle = ink("--faint");
    const steps = width < 500 ? 3 : 6;
    for (let i = 0; i < steps; i++) {
      const before = this.#back + this.#span * (1 - i / steps);
      context.fillText(`-${time(before * 1000)}`, (i * width) / steps + 2, height - 4);
    }
  }
}
