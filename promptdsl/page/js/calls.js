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
    const label = [...facts, ...error].join(", ");
    const share = (/** @type {number} */ part) => `${(100 * part / largest).toFixed(2)}%`;
    return element("button", {
      type: "button", class: error.length > 0 ? "column failed" : "column", "aria-label": label, title: label,
      "aria-current": index === current ? "true" : null,
      vars: { "--cached-at": share(cached), "--same-at": share(cached + same), "--total-at": share(total), "--all-at": share(total + dropped) },
      click: () => go(index),
    });
  });
  const names = ["from the cache", "the same, not cached", "new", "left out"];
  const keys = ["cached", "same", "fresh", "dropped"].map((name, index) =>
    element("span", { class: "legend" }, element("i", { class: name, "aria-hidden": "true" }), names[index]));
  parent.replaceChildren(
    element("h2", {}, `${count.toLocaleString("en")} requests`), element("p", { class: "quiet" }, keys),
    element("div", { class: "columns", role: "group", "aria-label": "requests" }, columns));
}
