// What the reader has chosen. It is in the address of the page, so a reload or a link shows it again.

/**
 * @typedef {object} Point a piece of a text that the reader points at
 * @property {number} message
 * @property {number} block
 * @property {number=} inner
 * @property {number} start
 * @property {number} end
 */

export const state = {
  prompt: 0,
  request: 0,
  /** "" means the tab that `chosenTab` chooses. */
  tab: "",
  target: "",
  query: "",
  /** The prompt and the request that this request is compared with, such as "0.3". */
  compared: "",
  /** @type {Point|null} */
  point: null,
  /** The path of the part whose text is marked. */
  part: "",
  isTreeOpen: true,
};

/** @param {string} hash */
export function readAddress(hash) {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  state.prompt = Math.trunc(Number(words.get("p") ?? 0)) || 0;
  state.request = Math.trunc(Number(words.get("r") ?? 0)) || 0;
  state.tab = words.get("tab") ?? "";
  state.target = words.get("t") ?? "";
  state.query = words.get("q") ?? "";
  state.compared = words.get("b") ?? "";
  state.part = words.get("part") ?? "";
  state.isTreeOpen = words.get("tree") !== "0";
  const [message, block, inner, start, end] = (words.get("at") ?? "").split(".");
  state.point = end === undefined ? null : {
    message: Number(message), block: Number(block), inner: inner === "" ? undefined : Number(inner),
    start: Number(start), end: Number(end),
  };
}

let isWriting = false;

/** Write the address, once for changes that come together. */
export function writeAddress() {
  if (isWriting) return;
  isWriting = true;
  setTimeout(() => {
    isWriting = false;
    history.replaceState(null, "", `#${addressWords()}`);
  });
}

function addressWords() {
  const words = new URLSearchParams();
  const { prompt, request, tab, target, query, compared, part, point, isTreeOpen } = state;
  if (prompt) words.set("p", String(prompt));
  if (request) words.set("r", String(request));
  if (tab) words.set("tab", tab);
  if (target) words.set("t", target);
  if (query) words.set("q", query);
  if (compared) words.set("b", compared);
  if (part) words.set("part", part);
  if (!isTreeOpen) words.set("tree", "0");
  if (point) words.set("at", [point.message, point.block, point.inner ?? "", point.start, point.end].join("."));
  return words;
}

/** Return whether a piece is in the part that the reader chose. @param {import("./values.js").Json} span */
export function isInPart({ turn, address }) {
  return state.part !== "" && (turn === state.part || `${address}/`.startsWith(`${state.part}/`));
}

/** @param {Point|null} first @param {Point|null} second */
export function isSamePoint(first, second) {
  if (first === null || second === null) return first === second;
  return first.message === second.message && first.block === second.block && first.inner === second.inner
    && first.start === second.start && first.end === second.end;
}
