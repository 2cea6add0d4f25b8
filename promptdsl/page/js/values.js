// The data of the page: reads each value that a reference replaces.

/** @typedef {Record<string, any>} Json */
/** @typedef {{first: number, script: HTMLElement|null, values: any[]|null}} Part the values from the index `first` on; a script is parsed when one of its values is needed */

const MARK = "~";
/** The keys of a record that the page does not show. */
const UNUSED = ["outline"];

/** The order of keys of objects, because a browser may change it. @type {WeakMap<object, string[]>} */
const orders = new WeakMap();

/** Return the keys and values of an object in the order in which they were written. @param {Json} value @returns {[string, any][]} */
export function entriesOf(value) {
  return orders.get(value)?.map(key => [key, value[key]]) ?? Object.entries(value);
}

/** Return an object of keys and values, and store their order. @param {[string, any][]} entries @returns {Json} */
export function objectOf(entries) {
  const object = Object.fromEntries(entries);
  orders.set(object, entries.map(([key]) => key));
  return object;
}

/** Return an object without some of its keys. @param {Json} value @param {string[]} names */
export function without(value, names) {
  return objectOf(entriesOf(value).filter(([key]) => !names.includes(key)));
}

/**
 * Return the data of the page; each value is read once, when it is first needed.
 * @param {Json} data
 * @param {HTMLElement[]} scripts the scripts with values, each from the index in its `data-first` on
 */
export function readData(data, scripts = []) {
  /** @type {Part[]} */
  const parts = data.values ? [{ first: 0, script: null, values: data.values }]
    : scripts.map(script => ({ first: Number(script.dataset.first), script, values: null }));
  /** The value of each reference that was read. @type {Map<string, any>} */
  const cachedValues = new Map();

  /** Return the value with an index; it may contain references. @param {number} index */
  function storedValue(index) {
    let [low, high] = [0, parts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (parts[middle].first <= index) low = middle;
      else high = middle - 1;
    }
    const part = parts[low];
    part.values ??= /** @type {any[]} */ (JSON.parse(part.script?.textContent ?? "[]"));
    return part.values[index - part.first];
  }

  /** @param {any} value @returns {any} */
  function read(value) {
    if (typeof value === "string") return readText(value);
    if (Array.isArray(value)) return value.map(read);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, read(part)]));
  }

  /** @param {string} text */
  function readText(text) {
    if (!text.startsWith(MARK)) return text;
    if (text[1] === MARK) return text.slice(1);
    if (text[1] === "n") return new ExactNumber(text.slice(2));
    if (!cachedValues.has(text)) cachedValues.set(text, readReference(text));
    return cachedValues.get(text);
  }

  /** @param {string} text @returns {any} */
  function readReference(text) {
    if (text[1] === "t") return storedValue(numberOf(text)).map(read).join("");
    if (text[1] === "o") return objectOf(pairsOf(text).map(([key, part]) => [key, read(part)]));
    return read(storedValue(numberOf(text)));
  }

  /** Return the keys of an object, each with its value or the reference to it. @param {any} value @returns {[string, any][]} */
  function pairsOf(value) {
    if (typeof value !== "string") return Object.entries(value);
    if (value[1] !== "o") return Object.entries(storedValue(numberOf(value)));
    const [keys, ...values] = storedValue(numberOf(value));
    return keys.map((/** @type {string} */ key, /** @type {number} */ index) => [key, values[index]]);
  }

  /**
   * Return an object whose values are read when they are first needed.
   * @param {any} value
   * @param {(key: string, part: any) => any} readPart
   * @returns {Json}
   */
  function readKeys(value, readPart) {
    /** @type {Json} */
    const object = {};
    const pairs = pairsOf(value);
    for (const [key, part] of pairs) {
      Object.defineProperty(object, key, { configurable: true, enumerable: true, get() {
        const value = readPart(key, part);
        Object.defineProperty(object, key, { value });
        return value;
      } });
    }
    orders.set(object, pairs.map(([key]) => key));
    return object;
  }

  /** @param {string} key @param {any} part */
  function readRequest(key, part) {
    if (key === "record" && part !== null) return readKeys(part, (_, inner) => read(inner));
    if (key === "targets") return readKeys(part, (_, target) => readKeys(target, (__, inner) => read(inner)));
    return read(part);
  }

  /** Return the values, or the references to them, that are needed to show a request. @param {Json} row */
  function neededOf(row) {
    const record = row.record === null ? [] : pairsOf(row.record).filter(([key]) => !UNUSED.includes(key));
    const targets = pairsOf(row.targets).flatMap(([, target]) => pairsOf(target));
    return [row.prefix, row.changes, row.fits, row.error, ...[...record, ...targets].map(([, part]) => part)];
  }

  /** Read values step by step: first find the references, then read them in an order in which each refers only to earlier values. @param {any[]} unvisited */
  function* steps(unvisited) {
    /** The references to each value, by its index: a value refers only to values with a smaller index. @type {string[][]} */
    const references = [];
    for (let count = 1; unvisited.length > 0; count++) {
      const value = unvisited.pop();
      if (typeof value === "string" && isReference(value)) {
        const number = numberOf(value);
        references[number] ??= [];
        if (!cachedValues.has(value) && !references[number].includes(value)) {
          references[number].push(value);
          unvisited.push(storedValue(number));
        }
      } else if (Array.isArray(value)) {
        for (const part of value) unvisited.push(part);
      } else if (value !== null && typeof value === "object") {
        for (const key in value) unvisited.push(value[key]);
      }
      if (count % 50 === 0) yield;
    }
    for (let number = 0; number < references.length; number++) {
      references[number]?.forEach(readText);
      if (number % 20 === 0) yield;
    }
  }

  /** @type {{name: string, requests: Json[]}[]} */
  const prompts = data.prompts.map((/** @type {Json} */ prompt) => ({
    name: prompt.name,
    requests: prompt.requests.map((/** @type {any} */ row) => readKeys(row, readRequest)),
  }));
  return {
    content: data.content,
    price: data.price,
    prompts,
    /** @param {number} prompt @param {number} index @returns {Json} */
    request(prompt, index) { return prompts[prompt].requests[index]; },
    /** Return the steps that read what a request needs. @param {number} prompt @param {number} index */
    reading(prompt, index) { return steps(index < 0 ? [] : neededOf(data.prompts[prompt].requests[index])); },
  };
}

/** Return whether a text is a reference. @param {string} text */
function isReference(text) { return text[0] === MARK && text[1] !== MARK && text[1] !== "n" && text.length > 1; }

/** Return the index in "~7", "~t7" or "~o7". @param {string} text */
function numberOf(text) { return Number(text.slice(text[1] === "t" || text[1] === "o" ? 2 : 1)); }

/** A number as Python writes it. */
export class ExactNumber {
  /** @param {string} text */
  constructor(text) { this.text = text; }
  valueOf() { return Number(this.text); }
  toString() { return this.text; }
}

/**
 * Return a value as JSON with its keys in the order in which they were written, as Python's
 * `json.dumps` writes it with `indent` and without escaped letters.
 * @param {any} value @param {number} indent @param {string} before the indentation of its lines
 * @returns {string}
 */
export function jsonText(value, indent = 2, before = "") {
  if (value instanceof ExactNumber) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const inner = before + " ".repeat(indent);
  const lines = Array.isArray(value) ? value.map(part => jsonText(part, indent, inner))
    : entriesOf(value).map(([key, part]) => `${JSON.stringify(key)}: ${jsonText(part, indent, inner)}`);
  return lines.length === 0 ? open + close : `${open}\n${inner}${lines.join(`,\n${inner}`)}\n${before}${close}`;
}

/** @typedef {ReturnType<typeof readData>} PageData */

/**
 * Return a function that cuts a text at offsets in characters, as Python counts them.
 * @param {string} text
 * @returns {{size: number, cut: (start: number, end?: number) => string}}
 */
export function slicer(text) {
  if (!/[\ud800-\udfff]/.test(text)) {
    return { size: text.length, cut: (start, end) => text.slice(start, end) };
  }
  const characters = Array.from(text);
  return { size: characters.length, cut: (start, end) => characters.slice(start, end).join("") };
}
