// @ts-check
/** The table of a worker's models. */
import { showFacts } from "./facts.js";
import { bytes, count, percent, time, until } from "./format.js";
import { Table } from "./table.js";

/** @typedef {import("./feed.js").Model} Model */
/** @typedef {import("./feed.js").Feed} Feed */

/** @param {() => Feed} feed @returns {import("./table.js").Column<Model>[]} */
function columns(feed) {
  /** @param {Model} m */
  const had = (m) => feed().had.get(m.name) ?? null;
  return [
    { kind: "name", title: "Model", help: "name", by: (m) => m.name, text: (m) => m.name, down: false },
    { kind: "stateof", title: "State", help: "life cycle", by: (m) => m.state, text: (m) => m.state, down: false, bad: (m) => m.state === "failed" },
    { kind: "number queue", title: "Queue", help: "requests that have not begun to run", by: (m) => m.queued, text: (m) => (m.queued ? count(m.queued) : ""), down: true },
    { kind: "number due", title: "Due", help: "share of the device by its weight, while it wants some", by: (m) => m.due ?? -1, text: (m) => percent(m.due), down: true },
    { kind: "number had", title: "Had", help: "share of the device time of the last 10 s", by: (m) => had(m) ?? -1, text: (m) => percent(had(m)), down: true },
    { kind: "place", title: "Place", help: "where its weights are", by: (m) => m.place, text: (m) => (m.pinned ? `${m.place}, pinned` : m.place), down: false },
    { kind: "number next", title: "Next use", help: "in how long it is expected to be used", by: (m) => m.nextUseSeconds ?? Infinity, text: (m) => until(m.nextUseSeconds), down: false },
    { kind: "reason", title: "Why it waits", help: "what has to happen before its requests run", by: (m) => m.waitedMicros ?? (m.words ? 0 : -1), text: (m) => m.words || m.reason, down: true },
  ];
}

export class Models {
  /**
   * @param {{table: HTMLElement, filter: HTMLInputElement, shown: HTMLElement, details: HTMLElement}} parts
   * @param {() => Feed} feed
   * @param {(model: Model | null) => void} chosen
   */
  constructor(parts, feed, chosen) {
    this.table = new Table(parts, {
      many: "models",
      columns: columns(feed),
      sorted: 2,
      name: (m) => m.name,
      words: (m) => `${m.name} ${m.state} ${m.place} ${m.why} ${m.words} ${m.reason}`,
      chosen: (model) => {
        showFacts(parts.details, model === null ? [] : details(model, feed()));
        chosen(model);
      },
    });
  }
}

/** @param {Model} model @param {Feed} feed @returns {import("./facts.js").Fact[]} */
function details(model, feed) {
  const padded = model.rows + model.paddingRows;
  return [
    ["Model", `${model.name}, ${model.version && `version ${model.version}, `}${model.state}`, true],
    ["Why it waits", model.words, true],
    ["Reason", model.reason, true],
    ["Queue", count(model.queued), false],
    ["Waited", time(model.waitedMicros), false],
    ["About", model.inMicros === null ? "" : `${time(model.inMicros)} more`, false],
    ["Weight", model.weight === null ? "" : String(model.weight), false],
    ["Due", percent(model.due), false],
    ["Had", percent(feed.had.get(model.name) ?? 0), false],
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
}
