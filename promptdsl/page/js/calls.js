// The calls of a log as columns: from the cache, the same but not cached, new, and left out.

import { element } from "./dom.js";
import { cacheFigures, tokens } from "./numbers.js";

/** @typedef {import("./values.js").PageData} PageData */

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
  const figures = Array.from({ length: count }, (_, index) => cacheFigures(data.request(prompt, index)));
  const largest = Math.max(1, ...figures.map(({ total, dropped }) => total + dropped));
  const columns = figures.map(({ total, cached, same, fresh, dropped }, index) => {
    const facts = [`request ${index + 1}`, `${tokens(total)} tokens`, `${tokens(cached)} from the cache`,
      `${tokens(same)} the same but not cached`, `${tokens(fresh)} new`, `${tokens(dropped)} left out`];
    const error = data.request(prompt, index).error ? ["it could not be made"] : [];
    const lost = isCacheLost(figures, index) ? ["the cache was lost"] : [];
    const label = [...facts, ...error, ...lost].join(", ");
    const share = (/** @type {number} */ part) => `${(100 * part / largest).toFixed(2)}%`;
    return element("button", {
      type: "button", class: ["column", error.length > 0 ? "failed" : "", lost.length > 0 ? "lost" : ""].join(" ").trim(), "aria-label": label, title: label,
      "aria-current": index === current ? "true" : null,
      vars: { "--cached-at": share(cached), "--same-at": share(cached + same), "--total-at": share(total), "--all-at": share(total + dropped) },
      click: () => go(index),
    });
  });
  const names = ["from the cache", "the same, not cached", "new", "left out"];
  const keys = ["cached", "same", "fresh", "dropped"].map((name, index) =>
    element("span", { class: "legend" }, element("i", { class: name, "aria-hidden": "true" }), names[index]));
  const lost = element("span", { class: "legend" }, element("b", { "aria-hidden": "true" }, "↯ "), "the cache was lost: less than 80 % of the tokens of the request before come from it");
  parent.replaceChildren(
    element("h2", {}, `${count.toLocaleString("en")} requests`), element("p", { class: "quiet" }, keys, lost),
    element("div", { class: "columns", role: "group", "aria-label": "requests" }, columns),
    element("p", {}, lostSentence(figures), sentenceOf(data.request(prompt, current), figures[current], current)));
}

/** Return in which requests the cache was lost. @param {ReturnType<typeof cacheFigures>[]} figures */
function lostSentence(figures) {
  const lost = figures.flatMap((_, index) => isCacheLost(figures, index) ? [index + 1] : []);
  if (lost.length === 0) return "";
  const more = lost.length > 9 ? ` and ${lost.length - 9} more` : "";
  return `The cache was lost in request ${lost.slice(0, 9).join(", ")}${more}. `;
}

/** Return whether a cache serves less than 80 % of the request before. @param {ReturnType<typeof cacheFigures>[]} figures @param {number} index */
function isCacheLost(figures, index) {
  if (index === 0 || figures[index - 1].cached === 0) return false;
  return figures[index].cached < figures[index - 1].total * 0.8;
}

/** @param {import("./values.js").Json} request @param {ReturnType<typeof cacheFigures>} figures @param {number} index */
function sentenceOf(request, { total, cached, same, fresh, dropped }, index) {
  const first = request.prefix?.first;
  const why = first ? ` First difference to the request before: ${first.what} ${first.how}.` : "";
  return `Request ${index + 1}: ${tokens(total)} tokens: ${tokens(cached)} from the cache, ${tokens(same)} the same but not cached, ${tokens(fresh)} new; ${tokens(dropped)} left out.${why}`;
}
