// The data of the page: references become the values that they stand for.

/** @typedef {Record<string, any>} Json */

const MARK = "~";

/**
 * Return the data of the page; each value is read once, when it is first needed.
 * @param {Json} data
 */
export function readData(data) {
  /** @type {any[]} */
  const known = [];

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
    if (text[1] === "n") return exactNumber(text.slice(2));
    const number = Number(text.slice(1));
    if (!(number in known)) known[number] = read(data.values[number]);
    return known[number];
  }

  /** Return a request whose parts are read when they are first needed. @param {any} row @returns {Json} */
  function readKeys(row) {
    const values = typeof row === "string" ? data.values[Number(row.slice(1))] : row;
    /** @type {Json} */
    const request = {};
    for (const [key, value] of Object.entries(values)) {
      Object.defineProperty(request, key, { configurable: true, get() {
        const part = read(value);
        Object.defineProperty(request, key, { value: part });
        return part;
      } });
    }
    return request;
  }

  /** @type {{name: string, requests: {row: any, read: Json|null}[]}[]} */
  const prompts = data.prompts.map((/** @type {Json} */ prompt) => ({
    name: prompt.name,
    requests: prompt.requests.map((/** @type {any} */ request) => ({ row: request, read: null })),
  }));
  return {
    content: data.content,
    price: data.price,
    prompts,
    /** @param {number} prompt @param {number} index @returns {Json} */
    request(prompt, index) {
      const slot = prompts[prompt].requests[index];
      slot.read ??= readKeys(slot.row);
      return slot.read;
    },
  };
}

/** Return a number as Python writes it, where the browser can keep it. @param {string} text */
function exactNumber(text) {
  const json = /** @type {{rawJSON?: (text: string) => object}} */ (JSON);
  return json.rawJSON?.(text) ?? Number(text);
}

/** Return whether a value is a number that is kept as Python writes it. @param {any} value */
export function isExactNumber(value) {
  const json = /** @type {{isRawJSON?: (value: any) => boolean}} */ (JSON);
  return json.isRawJSON?.(value) === true;
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
