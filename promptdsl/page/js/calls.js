// The requests of a prompt as columns of tokens: from the cache, equal but not cached, new, and left out.

import { element } from "./dom.js";
import { cacheFigures, tokens } from "./numbers.js";

/** @typedef {import("./values.js").PageData} PageData */

/** The share of the height for the tokens that were left out, in percent. */
const LEFT_OUT = 25;

/**
 * Show a column for each request of a prompt; `go` shows a request.
 * @param {HTMLElement} parent
 * @param {PageData} data
 * @param {number} prompt
 * @param {number} current
 * @param {(index: number) => void} go
 */
export function showCalls(parent, data, prompt, current, go) {
  const count = data.prompts[prompt].requests.length;
  parent.hidden = count < 2;
  if (parent.hidden) return;
  const counts = Array.from({ length: count }, (_, index) => cacheFigures(data.request(prompt, index)));
  const largest = counts.reduce((largestSoFar, { total }) => Math.max(largestSoFar, total), 1);
  const mostDropped = counts.reduce((largestSoFar, request) => Math.max(largestSoFar, request.dropped), 0);
  const height = mostDropped > 0 ? 100 - LEFT_OUT : 100;
  const isFocused = parent.contains(document.activeElement) && document.activeElement?.matches(".column");
  const lostAt = lostCaches(counts.map((_, index) => data.request(prompt, index).figures));
  const columns = counts.map(({ total, cached, same, fresh, dropped }, index) => {
    const facts = [`request ${index + 1}`, `${tokens(total)} tokens`, `${tokens(cached)} from the cache`,
      `${tokens(same)} equal but not cached`, `${tokens(fresh)} new`, `${tokens(dropped)} left out`];
    const error = data.request(prompt, index).error ? ["it could not be made"] : [];
    const lost = lostAt.has(index) ? ["the cache was lost"] : [];
    const label = [...facts, ...error, ...lost].join(", ");
    const share = (/** @type {number} */ tokenCount, out = 0) => `${(height * tokenCount / largest + LEFT_OUT * out / Math.max(mostDropped, 1)).toFixed(2)}%`;
    return element("button", {
      type: "button", class: ["column", error.length > 0 ? "failed" : "", lost.length > 0 ? "lost" : ""].join(" ").trim(), "aria-label": label, title: label,
      "aria-current": index === current ? "true" : null,
      vars: { "--cached-at": share(cached), "--same-at": share(cached + same), "--total-at": share(total), "--all-at": share(total, dropped) },
      tabindex: index === current ? "0" : "-1", click: () => go(index), keydown: (/** @type {KeyboardEvent} */ event) => step(event, index),
    });
  });
  /** @param {KeyboardEvent} event @param {number} index */
  function step(event, index) {
    const next = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: count - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    if (next >= 0 && next < count) go(next);
  }

  const names = ["from the cache", "equal, not cached", "new", "left out (on another scale)"];
  const keys = ["cached", "same", "fresh", "dropped"].map((name, index) =>
    element("span", { class: "legend" }, element("i", { class: name, "aria-hidden": "true" }), names[index]));
  const lost = element("span", { class: "legend" }, element("b", { "aria-hidden": "true" }, "↯ "), "the cache was lost: it serves less than 80 % of the tokens of the previous request");
  parent.replaceChildren(
    element("h2", {}, `${count.toLocaleString("en")} requests`), element("p", { class: "quiet" }, keys, lost),
    element("div", { class: "columns", role: "group", "aria-label": "requests" }, columns),
    element("p", {}, lostSentence(lostAt), sentenceOf(data.request(prompt, current), counts[current], current)));
  const box = parent.querySelector(".columns");
  const column = columns[current];
  if (box !== null && column !== undefined) box.scrollLeft = column.offsetLeft - box.clientWidth / 2;
  if (isFocused) column?.focus({ preventScroll: true });
}

/** Return a sentence on the requests that lost the cache. @param {Set<number>} lostAt */
function lostSentence(lostAt) {
  if (lostAt.size === 0) return "";
  const more = lostAt.size > 9 ? ` and ${lostAt.size - 9} more` : "";
  return `The cache was lost in request ${[...lostAt].slice(0, 9).map(index => index + 1).join(", ")}${more}. `;
}

/**
 * Return the indexes of the requests that lost the cache: it serves less than 80 % of the tokens of the
 * request before. If a cache never serves any request of the log, none has lost it.
 * @param {import("./values.js").Json[]} figures
 * @returns {Set<number>}
 */
function lostCaches(figures) {
  const isServed = figures.some(({ cached }) => cached > 0);
  const indexes = figures.flatMap(({ before, minimum, cached }, index) =>
    isServed && before !== null && before >= minimum && cached < 0.8 * before ? [index] : []);
  return new Set(indexes);
}

/** @param {import("./values.js").Json} request @param {ReturnType<typeof cacheFigures>} figures @param {number} index */
function sentenceOf(request, { total, cached, same, fresh, dropped }, index) {
  const first = request.prefix?.first;
  const why = first ? ` First difference from the previous request: ${first.what} ${first.how}.` : "";
  return `Request ${index + 1}: ${tokens(total)} tokens: ${tokens(cached)} from the cache, ${tokens(same)} equal but not cached, ${tokens(fresh)} new; ${tokens(dropped)} left out.${why}`;
}
