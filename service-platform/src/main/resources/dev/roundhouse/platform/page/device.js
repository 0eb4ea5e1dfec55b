// @ts-check
/** What the device did in the last seconds. */
import { percent } from "./format.js";

/** @typedef {import("./feed.js").Feed} Feed */

const SECONDS = 5;

/** @type {Record<string, string>} */
const WORDS = {
  running: "busy",
  padding: "busy with padding",
  "no-requests": "idle: nobody wants anything",
  weights: "idle: weights are awaited",
  held: "idle: held for larger batches",
  answers: "idle: answers are being read",
  dispatch: "idle: the host is between batches",
};

/** @param {Feed} feed @returns {[string, number][]} parts of 1 */
function parts(feed) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  let all = 0;
  let rows = 0;
  let padding = 0;
  for (const second of feed.seconds.slice(-SECONDS)) {
    rows += second.rows;
    padding += second.paddingRows;
    for (const use of feed.uses) {
      sums.set(use, (sums.get(use) ?? 0) + second.device[use]);
      all += second.device[use];
    }
  }
  if (all === 0) return [];
  const running = sums.get("running") ?? 0;
  const wasted = rows + padding > 0 ? (running * padding) / (rows + padding) : 0;
  sums.set("running", running - wasted);
  /** @type {[string, number][]} */
  const each = [...sums].map(([use, micros]) => [use, micros / all]);
  each.splice(1, 0, ["padding", wasted / all]);
  return each;
}

export class DeviceBar {
  /** @param {HTMLElement} bar @param {HTMLElement} list */
  constructor(bar, list) {
    this.bar = bar;
    this.list = list;
  }

  /** @param {Feed} feed */
  show(feed) {
    const shown = parts(feed).filter(([, part]) => part > 0.0005);
    this.bar.replaceChildren(
      ...shown.map(([use, part]) => {
        const piece = document.createElement("div");
        piece.className = use;
        piece.style.width = `${100 * part}%`;
        return piece;
      }),
    );
    this.list.replaceChildren(
      ...shown.map(([use, part]) => {
        const item = document.createElement("li");
        item.className = use;
        item.textContent = `${percent(part)} ${WORDS[use] ?? use}`;
        return item;
      }),
    );
  }
}
