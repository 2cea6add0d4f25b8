// The figures of a request: budget, cache, price, and where dropped parts would be there.

/** @typedef {import("./values.js").Json} Json */

/** @param {number|null|undefined} count */
export function tokens(count) { return count === null || count === undefined ? "not counted" : count.toLocaleString("en"); }

/** @param {Json|null} record @returns {number} */
export function totalOf(record) { return record?.tokens?.total ?? 0; }

/** Return the tokens of a request by what a cache did with them. @param {Json} request */
export function cacheFigures(request) {
  /** @type {{total: number, cached: number, same: number, dropped: number}} */
  const { total, cached, same, dropped } = request.figures;
  return { total, cached, same, fresh: total - cached - same, dropped };
}

/** Return the price of a request in the unit of the given price, or null. @param {Json} request @param {Json|null} price */
export function priceOf(request, price) {
  if (price === null || request.record?.tokens == null) return null;
  const { total, cached } = cacheFigures(request);
  const saved = cached * (price.input - price.cached) / 1e6;
  return { saved, cost: total * price.input / 1e6 - saved };
}

/** Return an amount with three digits that count. @param {number} amount */
export function money(amount) { return Number(amount.toPrecision(3)).toString(); }

/** Return the model or provider that a record is for, "" without one. @param {Json|null} record @returns {string} */
export function targetOf(record) { return record?.model.model ?? record?.model.provider ?? ""; }

/** Return the first line on the budget of a record. @param {Json|null} record */
export function budgetLine(record) {
  if (!record) return "not rendered";
  if (!record.tokens) return "the tokens could not be counted";
  const budget = record.budget;
  if (!budget) return `${tokens(record.tokens.total)} tokens, no budget`;
  const answer = budget.reserve ? ` · ${tokens(budget.reserve)} for the answer` : "";
  return `${tokens(budget.used)} of ${tokens(budget.limit)} tokens${answer} · ${tokens(budget.free)} free`;
}

/** Return what a request has from the cache; "" without a request before it. @param {Json} request */
export function cacheWords(request) { return request.prefix ? ` · ${tokens(cacheFigures(request).cached)} from the cache` : ""; }

/** Return the address of a part; "" where its name says it, or its last step. @param {Json} part @returns {string} */
export function addressOf(part) {
  const path = part.path ?? "";
  return ` ${part.what}`.endsWith(` ${path.split("/").at(-1)}`) ? "" : path;
}

/** Return at which of the tried budgets a dropped part is there. @param {Json[]} fits @param {Json} part */
function fitsOf(fits, part) {
  const tried = fits.filter(fit => fit.tokens !== null && Array.isArray(fit.dropped));
  const isIn = (/** @type {Json} */ fit) => !fit.dropped.some((/** @type {Json} */ other) => other.what === part.what && other.path === (part.path ?? ""));
  const there = tried.filter(isIn).map(fit => fit.budget);
  const smallest = there[0];
  const gone = tried.filter(fit => smallest !== undefined && fit.budget > smallest && !isIn(fit)).map(fit => fit.budget);
  return { tried: tried.length, there, gone };
}

/** @typedef {{first: number, last: number}} Interval budgets that were tried, one after the other */

/** Return the intervals of the tried budgets in which a part is there. @param {Json[]} fits @param {Json} part @returns {Interval[]} */
export function intervalsOf(fits, part) {
  const { there, gone } = fitsOf(fits, part);
  /** @type {Interval[]} */
  const intervals = [];
  for (const budget of there) {
    const last = intervals.at(-1);
    const isNext = last !== undefined && !gone.some(other => last.last < other && other < budget);
    if (isNext) last.last = budget;
    else intervals.push({ first: budget, last: budget });
  }
  return intervals;
}

/** @param {Interval[]} intervals */
export function intervalText(intervals) {
  return `at ${intervals.map(({ first, last }) => first === last ? tokens(first) : `${tokens(first)} to ${tokens(last)}`).join(", ")}`;
}

/** Return a sentence on the budgets at which a dropped part is there. @param {Json[]} fits @param {Json} part */
export function fitsSentence(fits, part) {
  const { tried, there, gone } = fitsOf(fits, part);
  if (tried === 0) return "";
  if (there.length === 0) return "It is there at none of the budgets that were tried.";
  const list = (/** @type {number[]} */ numbers) => numbers.slice(0, 6).map(number => number.toLocaleString("en")).join(", ") + (numbers.length > 6 ? ", …" : "");
  const not = gone.length > 0 ? `; not at ${list(gone)}` : "";
  return `It is there at ${list(there)}${not} (of ${tried} budgets that were tried).`;
}

/** Return the role that is sent and the one that is written. @param {Json} record @param {number} index */
export function rolesOf(record, index) {
  const written = record.messages[index].role;
  const sent = new Set((record.sent?.[index] ?? []).filter(Boolean).map((/** @type {Json} */ block) => block.role));
  if (record.sent == null) return { written, sent: "", isSent: true };
  if (sent.size === 0) return { written, sent: "", isSent: (record.messages[index].content.length === 0) };
  return { written, sent: [...sent].join(", "), isSent: true };
}
