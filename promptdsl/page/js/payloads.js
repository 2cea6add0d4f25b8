// A payload as JSON, with the pieces that the reader points at marked in it.

import { element, longList, pushTo, shownText } from "./dom.js";
import { ExactNumber, entriesOf, jsonText, slicer } from "./values.js";

/** @typedef {import("./values.js").Json} Json */
/** @typedef {import("./state.js").Point} Point */
/** @typedef {{indent: number, start: string, text?: string, end: string, path: string}} Line */

/** @typedef {{path: string, role: string, address: string, start: number, end: number, at: number[]}} Mark */

/** @param {(string|number)[]} address */
function pathOf(address) { return JSON.stringify(address); }

/**
 * Return the lines of a JSON value: a list of functions, as a line is made when it is shown.
 * @param {any} value
 * @param {(string|number)[]} address
 * @param {string} before
 * @param {string} after
 * @returns {(() => Line)[]}
 */
function linesOf(value, address, before, after) {
  /** @type {(() => Line)[]} */
  const lines = [];
  /** @param {any} part @param {(string|number)[]} at @param {string} start @param {string} end */
  function add(part, at, start, end) {
    const indent = at.length;
    if (typeof part === "string") lines.push(() => ({ indent, start: `${start}"`, text: part, end: `"${end}`, path: pathOf(at) }));
    else if (isSimple(part)) lines.push(() => ({ indent, start: start + jsonText(part), end, path: pathOf(at) }));
    else addAll(part, at, start, end);
  }
  /** @param {any} parts @param {(string|number)[]} at @param {string} start @param {string} end */
  function addAll(parts, at, start, end) {
    const indent = at.length;
    const isList = Array.isArray(parts);
    const [open, close] = isList ? "[]" : "{}";
    const entries = isList ? [...parts.entries()] : entriesOf(parts);
    lines.push(() => ({ indent, start: start + open, end: "", path: pathOf(at) }));
    entries.forEach(([/** @type {string|number} */ key, part], number) => {
      add(part, [...at, key], isList ? "" : `${JSON.stringify(key)}: `, number < entries.length - 1 ? "," : "");
    });
    lines.push(() => ({ indent, start: close + end, end: "", path: "" }));
  }
  add(value, address, before, after);
  return lines;
}

/** Return whether a value is on one line. @param {any} value */
function isSimple(value) {
  return value === null || typeof value !== "object" || value instanceof ExactNumber || Object.keys(value).length === 0;
}

/**
 * Return the piece of this render that a character of a payload is, null if it is in no message here.
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

/** Return whether a location is that of a block. @param {Json} location @param {{message: number, block: number, inner?: number}} at */
function isAt(location, at) {
  return location.message === at.message && location.block === at.block && (location.inner ?? -1) === (at.inner ?? -1);
}

/** Return the text of a block, or of a block in a result. @param {Json[]} messages @param {Json} at @returns {string} */
function textAt(messages, at) {
  const block = messages[at.message]?.content[at.block];
  return (at.inner === undefined ? block : block?.content?.[at.inner])?.text ?? "";
}

/** Return what makes a piece the same one in another render. @param {Json[]} messages @param {Json} span */
function identityOf(messages, span) {
  const text = slicer(textAt(messages, span)).cut(span.start, span.end);
  return JSON.stringify([span.kind, span.source ?? "", span.address ?? "", text]);
}

/** Return the piece of a record that a point is, with its kind and its line. @param {Json} record @param {Point} point @returns {Json|undefined} */
export function spanAt(record, point) {
  return record.spans.find((/** @type {Json} */ span) => isAt(span, point) && span.start === point.start && span.end === point.end);
}

/**
 * Return the piece of a render for another target that the reader points at in this one: the same
 * text of the same line, and of several the one with the same number; null if there is none.
 * @param {Json} record
 * @param {Json} target
 * @param {Point} point
 * @returns {Point|null}
 */
export function pointIn(record, target, point) {
  const span = spanAt(record, point);
  if (span === undefined) return JSON.stringify(target.messages) === JSON.stringify(record.messages) ? point : null;
  const same = (/** @type {Json} */ side) => side.spans.filter((/** @type {Json} */ other) =>
    other.kind === span.kind && other.source === span.source && identityOf(side.messages, other) === identityOf(record.messages, span));
  return same(target)[same(record).indexOf(span)] ?? null;
}

/**
 * Return where the piece that the reader points at is in a payload: the locations of its block, with
 * the range of characters to mark.
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
  /** @type {Map<string, Json[]>} */
  const byPath = new Map();
  locations.forEach(location => pushTo(byPath, pathOf(location.address), location));
  const lines = linesOf(payload, [], "", "");
  /** The number of the line of each path, found when it is first needed. @type {Map<string, number>|null} */
  let places = null;
  /** @type {Mark[]} */
  let marks = [];

  /** @param {Line} line */
  function lineOf(line) {
    const marked = marks.filter(mark => mark.path === line.path && line.path !== "");
    const isWhole = marked.length > 0 && line.text === undefined;
    const row = element("div", { class: isWhole ? "line pointed" : "line", vars: { "--depth": line.indent } }, ...shownText(line.start));
    if (line.text !== undefined) row.append(textOf(line.text, marked, byPath.get(line.path) ?? []));
    row.append(line.end);
    return row;
  }

  /** @param {string} text @param {typeof marks} marked @param {Json[]} here */
  function textOf(text, marked, here) {
    const { size, cut } = slicer(text);
    const ends = new Set([0, size]);
    marked.forEach(mark => { ends.add(mark.start); ends.add(Math.min(mark.end, size)); });
    here.forEach(location => { ends.add(location.start ?? 0); ends.add(Math.min(location.end ?? size, size)); });
    const order = [...ends].sort((one, other) => one - other);
    const pieces = order.slice(0, -1).map((start, index) => {
      const end = order[index + 1];
      const isPointed = marked.some(mark => mark.start <= start && end <= mark.end);
      const location = here.find(there => (there.start ?? 0) <= start && end <= (there.end ?? size));
      return element(isPointed ? "mark" : "span", { click: () => { if (location) choose(location, start - (location.start ?? 0)); } }, ...shownText(escaped(cut(start, end))));
    });
    return element("bdi", { class: "string" }, pieces);
  }

  /** @param {string} path */
  function lineAt(path) {
    places ??= new Map(lines.map((line, number) => [line().path, number]));
    return places.get(path);
  }

  const list = longList(parent, lines.length, index => lineOf(lines[index]()), 20);
  return {
    /** Mark a piece, and draw again what is on the screen. @param {Mark[]} chosen */
    mark(chosen) {
      if (chosen.length === 0 && marks.length === 0) return;
      marks = chosen;
      list.redraw();
      const place = chosen.length === 0 ? undefined : lineAt(chosen[0].path);
      const line = place === undefined ? null : list.at(place);
      if (line !== null) showInside(parent, line.querySelector("mark") ?? line);
    },
    close: list.close,
  };
}

/** Return a text as JSON writes it, with a line end after each \n. @param {string} text */
function escaped(text) {
  return JSON.stringify(text).slice(1, -1).replaceAll("\\n", "\\n\n");
}

/** Scroll a box so that an element in it is seen; the page itself does not move. @param {HTMLElement} box @param {Element} inside */
export function showInside(box, inside) {
  const [outer, inner] = [box.getBoundingClientRect(), inside.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) box.scrollTop += inner.top - outer.top - outer.height / 3;
}
