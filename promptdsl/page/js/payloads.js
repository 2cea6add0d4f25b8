// A payload as JSON, with the pieces that the reader points at marked in it.

import { element, longList, pushTo, shownText } from "./dom.js";
import { isExactNumber, slicer } from "./values.js";

/** @typedef {import("./values.js").Json} Json */
/** @typedef {import("./state.js").Point} Point */
/** @typedef {{indent: number, start: string, text?: string, end: string, path: string}} Line */

/** @typedef {{path: string, role: string, address: string, start: number, end: number, at: number[]}} Mark */

const GROUP = 40;

/** @param {(string|number)[]} address */
function pathOf(address) { return JSON.stringify(address); }

/** Return the lines of a JSON value. @param {any} value @param {(string|number)[]} address @param {number} indent @param {string} before @param {string} after @returns {Line[]} */
function linesOf(value, address, indent, before, after) {
  const path = pathOf(address);
  if (typeof value === "string") return [{ indent, start: `${before}"`, text: value, end: `"${after}`, path }];
  if (value === null || typeof value !== "object" || isExactNumber(value)) return [{ indent, start: before + JSON.stringify(value), end: after, path }];
  const isList = Array.isArray(value);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  const entries = Object.entries(value);
  if (entries.length === 0) return [{ indent, start: before + open + close, end: after, path }];
  const lines = [{ indent, start: before + open, end: "", path }];
  entries.forEach(([key, part], number) => {
    const comma = number < entries.length - 1 ? "," : "";
    const name = isList ? "" : `${JSON.stringify(key)}: `;
    for (const line of linesOf(part, [...address, isList ? number : key], indent + 1, name, comma)) lines.push(line);
  });
  return [...lines, { indent, start: close + after, end: "", path: "" }];
}

/** @typedef {{lines: () => Line[], key: string, first: number, last: number}} Unit */

/**
 * Return the parts of a payload that are drawn one by one: each key, of long lists 40 items each.
 * @param {Json} payload
 * @returns {Unit[]}
 */
function unitsOf(payload) {
  /** @type {Unit[]} */
  const units = [];
  /** @param {() => Line[]} lines @param {string=} key @param {number=} first @param {number=} last */
  const add = (lines, key = "", first = 0, last = Infinity) => units.push({ lines, key, first, last });
  add(() => [{ indent: 0, start: "{", end: "", path: "[]" }]);
  const entries = Object.entries(payload);
  entries.forEach(([key, value], number) => {
    const comma = number < entries.length - 1 ? "," : "";
    const name = `${JSON.stringify(key)}: `;
    if (!Array.isArray(value) || value.length <= GROUP) {
      add(() => linesOf(value, [key], 1, name, comma), key);
      return;
    }
    add(() => [{ indent: 1, start: `${name}[`, end: "", path: pathOf([key]) }]);
    for (let first = 0; first < value.length; first += GROUP) {
      const last = Math.min(first + GROUP, value.length) - 1;
      const commaAfter = (/** @type {number} */ index) => index < value.length - 1 ? "," : "";
      add(() => value.slice(first, last + 1).flatMap((item, offset) =>
        linesOf(item, [key, first + offset], 2, "", commaAfter(first + offset))), key, first, last);
    }
    add(() => [{ indent: 1, start: `]${comma}`, end: "", path: "" }]);
  });
  add(() => [{ indent: 0, start: "}", end: "", path: "" }]);
  return units;
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
  const units = unitsOf(payload);
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

  const list = longList(parent, units.length, index => element("div", {}, units[index].lines().map(lineOf)), 2000, 1);
  return {
    /** Mark a piece, and draw again what is on the screen. @param {Mark[]} chosen */
    mark(chosen) {
      marks = chosen;
      [...parent.children].forEach((group, number) => {
        group.firstElementChild?.replaceChildren(...units[number].lines().map(lineOf));
      });
      if (chosen.length === 0) return;
      const [key, index] = JSON.parse(chosen[0].path);
      const place = units.findIndex(unit => unit.key === key && (unit.last === Infinity || (unit.first <= index && index <= unit.last)));
      const mark = place < 0 ? null : list.at(place)?.querySelector(".pointed, mark");
      if (mark instanceof HTMLElement) showInside(parent, mark);
    },
    close: list.close,
  };
}

/** Return a text as JSON writes it, with a line end after each \n. @param {string} text */
function escaped(text) {
  return JSON.stringify(text).slice(1, -1).replaceAll("\\n", "\\n\n");
}

/** Scroll a box so that an element in it is seen; the page itself does not move. @param {HTMLElement} box @param {HTMLElement} inside */
export function showInside(box, inside) {
  const [outer, inner] = [box.getBoundingClientRect(), inside.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) box.scrollTop += inner.top - outer.top - outer.height / 3;
}
