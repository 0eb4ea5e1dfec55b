// @ts-check
/** What the page shows, as the part of its address behind #: WORKER, or WORKER/MODEL; nothing for all workers. */

/** @typedef {{worker: string, model: string}} Place each empty for none */

/** @param {string} hash @returns {Place} */
export function read(hash) {
  const [worker = "", model = ""] = hash.replace(/^#/, "").split("/").map(decoded);
  return { worker, model };
}

/** @param {string} worker @param {string} model */
export function write(worker, model = "") {
  const whose = encodeURIComponent(worker);
  return model === "" ? `#${whose}` : `#${whose}/${encodeURIComponent(model)}`;
}

/** What somebody typed may be no address. @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** For an endpoint that asks one of several workers. @param {string | null} worker */
export function whose(worker) {
  return worker === null ? "" : `?worker=${encodeURIComponent(worker)}`;
}
