// A payload as JSON, in which the pieces are marked that the reader points at.

import { element, longList, pushTo, shownText } from "./dom.js";
import { ExactNumber, entriesOf, jsonText, slicer } from "./values.js";

/** @typedef {import("./values.js").Json} Json */
/** @typedef {import("./state.js").Point} Point */
/** @typedef {{indent: number, start: string, text?: string, end: string, path: string}} Line */

const MANY = 20;

/** @typedef {{path: string, role: string, address: string, start: number, end: number, at: number[]}} Mark */

/** @param {(string|number)[]} address */
function pathOf(address) { return JSON.stringify(address); }

/** @typedef {{address: (string|number)[], lines: () => Line[]}} Unit a piece of a payload that is drawn in one step */

/** Return the lines of a JSON value. @param {any} value @param {(string|number)[]} address @param {string} before @param {string} after @returns {Line[]} */
function linesOf(value, address, before, after) {
  const indent = address.length;
  const path = pathOf(address);
  if (typeof value === "string") return [{ indent, start: `${before}"`, text: value, end: `"${after}`, path }];
  if (isSimple(value)) return [{ indent, start: before + jsonText(value), end: after, path }];
  const [open, close] = bracketsOf(value);
  const inner = namedParts(value).flatMap(({ key, part, name, comma }) => linesOf(part, [...address, key], name, comma));
  return [{ indent, start: before + open, end: "", path }, ...inner, { indent, start: close + after, end: "", path: "" }];
}

/** Return whether a value is on one line. @param {any} value */
function isSimple(value) {
  return value === null || typeof value !== "object" || value instanceof ExactNumber || Object.keys(value).length === 0;
}

/** @param {any} value */
function bracketsOf(value) { return Array.isArray(value) ? "[]" : "{}"; }

/** Return the parts of an object or a list, each with the text before and after it. @param {any} value */
function namedParts(value) {
  const isList = Array.isArray(value);
  const entries = isList ? [...value.entries()] : entriesOf(value);
  return entries.map(([/** @type {string|number} */ key, part], index) =>
    ({ key, part, name: isList ? "" : `${JSON.stringify(key)}: `, comma: index < entries.length - 1 ? "," : "" }));
}

/** Return whether a value has few parts, so that it is drawn in one step. @param {any} value */
function isSmall(value) {
  const unvisited = [value];
  let count = 0;
  for (let next = unvisited.pop(); next !== undefined && count <= MANY; next = unvisited.pop()) {
    if (isSimple(next)) continue;
    const parts = Object.values(next);
    count += parts.length;
    if (count <= MANY) unvisited.push(...parts);
  }
  return count <= MANY;
}

/**
 * Return the pieces of a payload that are drawn in one step each, and for each key, and each item of a
 * list in it, the index of its first piece.
 * @param {Json} payload
 */
function unitsOf(payload) {
  /** @type {Unit[]} */
  const units = [];
  /** @type {Map<string, number>} */
  const starts = new Map();
  /** @param {any} value @param {(string|number)[]} address @param {string} before @param {string} after */
  function add(value, address, before, after) {
    if (address.length <= 2) starts.set(address.join(), units.length);
    if (address.length > 0 && isSmall(value)) {
      units.push({ address, lines: () => linesOf(value, address, before, after) });
      return;
    }
    const indent = address.length;
    const [open, close] = bracketsOf(value);
    units.push({ address, lines: () => [{ indent, start: before + open, end: "", path: pathOf(address) }] });
    for (const { key, part, name, comma } of namedParts(value)) add(part, [...address, key], name, comma);
    units.push({ address, lines: () => [{ indent, start: close + after, end: "", path: "" }] });
  }
  add(payload, [], "", "");
  return { units, starts };
}

/**
 * Return the piece of this render that has a character of a payload; null if no message here has it.
 * @param {Json} record
 * @param {Json} target
 * @param {Json} location
 * @param {number} offset
 * @returns {Point|null}
 */
export function pointOf(record, target, location, offset) {
  const spans = target.spans.filter((/** @type {Json} */ span) => isAt(span, /** @type {any} */ (location)));
  const span = spans.find((/** @type {Json} */ other) => other.start <= offset && offset < other.end) ?? spans[0];
  return span === undefined ? null : pointIn(target, record, span);
}

/** Return whether a location is the location of a block. @param {Json} location @param {{message: number, block: number, inner?: number}} at */
function isAt(location, at) {
  return location.message === at.message && location.block === at.block && (location.inner ?? -1) === (at.inner ?? -1);
}

/** Return the text of a block, or of a block in a result. @param {Json[]} messages @param {Json} at @returns {string} */
function textAt(messages, at) {
  const block = messages[at.message]?.content[at.block];
  return (at.inner === undefined ? block : block?.content?.[at.inner])?.text ?? "";
}

/** Return the text of a piece. @param {Json[]} messages @param {Json} span */
function pieceText(messages, span) { return slicer(textAt(messages, span)).cut(span.start, span.end); }

/** Return the span of a record that is at a point, with its kind and its source line. @param {Json} record @param {Point} point @returns {Json|undefined} */
export function spanAt(record, point) {
  return record.spans.find((/** @type {Json} */ span) => isAt(span, point) && span.start === point.start && span.end === point.end);
}

/**
 * Return the piece in a render for another target that the reader points at in this render. It has the
 * same text and source line. If there are several, it is the piece with the same number. It is null if
 * there is no such piece.
 * @param {Json} record
 * @param {Json} target
 * @param {Point} point
 * @returns {Point|null}
 */
export function pointIn(record, target, point) {
  if (target.spans === record.spans && target.messages === record.messages) return point;
  const span = spanAt(record, point);
  if (span === undefined) return JSON.stringify(target.messages) === JSON.stringify(record.messages) ? point : null;
  const text = pieceText(record.messages, span);
  const isAlike = (/** @type {Json} */ other) => other.end - other.start === span.end - span.start
    && other.kind === span.kind && other.source === span.source && other.address === span.address;
  const alikeSpans = (/** @type {Json} */ render) => render.spans.filter((/** @type {Json} */ other) => isAlike(other) && pieceText(render.messages, other) === text);
  return alikeSpans(target)[alikeSpans(record).indexOf(span)] ?? null;
}

/**
 * Return where a payload has the piece that the reader points at: the locations of its block, with the
 * range of characters to mark.
 * @param {Json} record
 * @param {Json} target
 * @param {Point|null} pointed
 * @returns {Mark[]}
 */
export function marksOf(record, target, pointed) {
  const point = pointed && pointIn(record, target, pointed);
  if (point === null) return [];
  const { size } = slicer(textAt(target.messages, point));
  return target.locations.filter((/** @type {Json} */ location) => isAt(location, point)).map((/** @type {Json} */ location) => {
    const isExact = location.start !== undefined && location.end - location.start === size;
    const start = isExact ? location.start + point.start : location.start ?? 0;
    const end = isExact ? location.start + point.end : location.end ?? Infinity;
    const at = [point.message, point.block];
    return { path: pathOf(location.address), role: location.role, address: addressText(location.address), start, end, at };
  });
}

/** Return an address as code: messages[0].content. @param {(string|number)[]} address */
function addressText(address) {
  return address.map(key => typeof key === "number" ? `[${key}]` : `.${key}`).join("").replace(/^\./, "");
}

/**
 * Show a payload.
 * @param {HTMLElement} parent
 * @param {Json} payload
 * @param {Json[]} locations
 * @param {(location: Json, offset: number) => void} choose is called with the location of a text that is clicked, and the character
 */
export function showPayload(parent, payload, locations, choose) {
  /** The locations by the beginning of their address. @type {Map<string, Json[]>} */
  const byStart = new Map();
  locations.forEach(location => pushTo(byStart, location.address.slice(0, 2).join(), location));
  const { units, starts } = unitsOf(payload);
  /** @type {Mark[]} */
  let marks = [];

  /** @param {Unit} unit */
  function unitOf({ address, lines }) {
    const nearLocations = byStart.get(address.slice(0, 2).join()) ?? [];
    return element("div", {}, lines().map(line => lineOf(line, nearLocations)));
  }

  /** @param {Line} line @param {Json[]} nearLocations */
  function lineOf(line, nearLocations) {
    const lineMarks = marks.filter(mark => mark.path === line.path && line.path !== "");
    const isMarkedLine = lineMarks.length > 0 && line.text === undefined;
    const row = element("div", { class: isMarkedLine ? "line pointed" : "line", vars: { "--depth": line.indent } }, ...shownText(line.start));
    if (line.text !== undefined) row.append(textOf(line.text, lineMarks, nearLocations.filter(location => pathOf(location.address) === line.path)));
    row.append(line.end);
    return row;
  }

  /** @param {string} text @param {typeof marks} lineMarks @param {Json[]} lineLocations */
  function textOf(text, lineMarks, lineLocations) {
    const { size, cut } = slicer(text);
    const ends = new Set([0, size]);
    lineMarks.forEach(mark => { ends.add(mark.start); ends.add(Math.min(mark.end, size)); });
    lineLocations.forEach(location => { ends.add(location.start ?? 0); ends.add(Math.min(location.end ?? size, size)); });
    const order = [...ends].sort((first, second) => first - second);
    const pieces = order.slice(0, -1).map((start, index) => {
      const end = order[index + 1];
      const isPointed = lineMarks.some(mark => mark.start <= start && end <= mark.end);
      const location = lineLocations.find(candidate => (candidate.start ?? 0) <= start && end <= (candidate.end ?? size));
      return element(isPointed ? "mark" : "span", { click: () => { if (location) choose(location, start - (location.start ?? 0)); } }, ...shownText(escaped(cut(start, end))));
    });
    return element("bdi", { class: "string" }, pieces);
  }

  /** Return the index of the unit that has a path. @param {string} path */
  function unitAt(path) {
    const start = starts.get(JSON.parse(path).slice(0, 2).join()) ?? 0;
    return units.findIndex(({ lines }, number) => number >= start && lines().some(line => line.path === path));
  }

  const list = longList(parent, units.length, index => unitOf(units[index]), 60);
  return {
    /** Mark a piece, and draw the units on the screen again. @param {Mark[]} chosen */
    mark(chosen) {
      if (chosen.length === 0 && marks.length === 0) return;
      marks = chosen;
      list.redraw();
      const unit = chosen.length === 0 ? null : list.at(unitAt(chosen[0].path));
      if (unit !== null) showInside(parent, unit.querySelector(".pointed, mark") ?? unit);
    },
    close: list.close,
  };
}

/** Return a text as JSON writes it, with a line end after each \n. @param {string} text */
function escaped(text) {
  return JSON.stringify(text).slice(1, -1).replaceAll("\\n", "\\n\n");
}

/** Scroll a box, or the box around it that scrolls, so that an element in it is visible; the page does not move. @param {HTMLElement} parent @param {Element} descendant */
export function showInside(parent, descendant) {
  const isScrolled = parent.scrollHeight > parent.clientHeight + 1;
  const box = isScrolled ? parent : /** @type {HTMLElement} */ (parent.parentElement ?? parent);
  const [outer, inner] = [box.getBoundingClientRect(), descendant.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) box.scrollTop += inner.top - outer.top - outer.height / 3;
}
