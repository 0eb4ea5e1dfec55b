// @ts-check
/** How figures are shown, and which colour a model has. */

/** @param {number} value @param {string} unit */
function scaled(value, unit) {
  return `${value < 9.95 ? Number(value.toFixed(1)) : Math.round(value)} ${unit}`;
}

/** @param {number | null} micros */
export function time(micros) {
  if (micros === null) return "";
  if (micros < 1000) return `${Math.round(micros)} µs`;
  if (micros < 1e6) return scaled(micros / 1e3, "ms");
  if (micros < 6e7) return scaled(micros / 1e6, "s");
  if (micros < 3.6e9) return scaled(micros / 6e7, "min");
  return scaled(micros / 3.6e9, "h");
}

/** Until something is expected; workers tell nothing below a millisecond. @param {number | null} seconds */
export function until(seconds) {
  return seconds === 0 ? "now" : time(seconds === null ? null : seconds * 1e6);
}

/** @param {number | null} value */
export function bytes(value) {
  if (value === null) return "";
  if (value < 1e3) return `${value} B`;
  if (value < 1e6) return scaled(value / 1e3, "KB");
  if (value < 1e9) return scaled(value / 1e6, "MB");
  return scaled(value / 1e9, "GB");
}

/** @param {number | null} part of 1 */
export function percent(part) {
  if (part === null || Number.isNaN(part)) return "";
  if (part > 0 && part < 0.001) return "<0.1 %";
  return `${Number((100 * part).toFixed(part < 0.0995 ? 1 : 0))} %`;
}

const whole = new Intl.NumberFormat("en");

/** @param {number} value */
export function count(value) {
  return whole.format(value);
}

/** @type {Map<string, number>} */
const hues = new Map();
const MOST_HUES = 50_000;

/** A hue that only depends on the name. @param {string} name */
function hue(name) {
  let known = hues.get(name);
  if (known === undefined) {
    let hash = 2166136261;
    for (let i = 0; i < name.length; i++) {
      hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
    }
    known = ((hash >>> 0) * 137.508) % 360;
    if (hues.size >= MOST_HUES) hues.clear();
    hues.set(name, known);
  }
  return known;
}

const dark = matchMedia("(prefers-color-scheme: dark)");

/** @param {string} name of a model */
export function colour(name) {
  return `hsl(${hue(name).toFixed(1)} 62% ${dark.matches ? 62 : 44}%)`;
}

/** A colour of the style sheet. @param {string} name */
export function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
