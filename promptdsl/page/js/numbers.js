// The numbers of a request: budget, cache and price, and the budgets with which a dropped part is sent.

/** @typedef {import("./values.js").Json} Json */

/** @param {number|null|undefined} count */
export function tokens(count) { return count === null || count === undefined ? "not counted" : count.toLocaleString("en"); }

/** @param {Json|null} record @returns {number} */
export function totalOf(record) { return record?.tokens?.total ?? 0; }

/** Return numbers of tokens: all, from the cache, equal but not cached, new, and dropped. @param {Json} request */
export function cacheFigures(request) {
  /** @type {{total: number, cached: number, same: number, dropped: number}} */
  const { total, cached, same, dropped } = request.figures;
  return { total, cached, same, fresh: total - cached - same, dropped };
}

/** Return the cost of a request, and what the cache saves, in the unit of the price; or null. @param {Json} request @param {Json|null} price */
export function priceOf(request, price) {
  if (price === null || request.record?.tokens == null) return null;
  const { total, cached } = cacheFigures(request);
  const saved = cached * (price.input - price.cached) / 1e6;
  return { saved, cost: total * price.input / 1e6 - saved };
}

/** Return an amount with three significant digits. @param {number} amount */
export function money(amount) { return Number(amount.toPrecision(3)).toString(); }

/** Return the model or provider of a record; "" without a target. @param {Json|null} record @returns {string} */
export function targetOf(record) { return record?.model.model ?? record?.model.provider ?? ""; }

/** Return the line on the budget of a record. @param {Json|null} record */
export function budgetLine(record) {
  if (!record) return "not rendered";
  if (!record.tokens) return "the tokens could not be counted";
  const budget = record.budget;
  if (!budget) return `${tokens(record.tokens.total)} tokens, no budget`;
  const answer = budget.reserve ? ` · ${tokens(budget.reserve)} for the answer` : "";
  return `${tokens(budget.used)} of ${tokens(budget.limit)} tokens${answer} · ${tokens(budget.free)} free`;
}

/** Return how much of a request comes from the cache; "" for the first request. @param {Json} request */
export function cacheWords(request) { return request.prefix ? ` · ${tokens(cacheFigures(request).cached)} from the cache` : ""; }

/** Return the address of a part; "" if the name of the part ends with the last step of it. @param {Json} part @returns {string} */
export function addressOf(part) {
  const path = part.path ?? "";
  return ` ${part.what}`.endsWith(` ${path.split("/").at(-1)}`) ? "" : path;
}

/** Return with which of the budgets that were tried a dropped part is sent, and with which it is dropped again. @param {Json[]} fits @param {Json} part */
function fitsOf(fits, part) {
  const tried = fits.filter(fit => fit.tokens !== null && Array.isArray(fit.dropped));
  const isIn = (/** @type {Json} */ fit) => !fit.dropped.some((/** @type {Json} */ other) => other.what === part.what && other.path === (part.path ?? ""));
  const sentAt = tried.filter(isIn).map(fit => fit.budget);
  const smallest = sentAt[0];
  const droppedAt = tried.filter(fit => smallest !== undefined && fit.budget > smallest && !isIn(fit)).map(fit => fit.budget);
  return { tried: tried.length, sentAt, droppedAt };
}

/** @typedef {{first: number, last: number}} Interval consecutive budgets that were tried */

/** Return the intervals of the budgets that were tried in which a part is sent. @param {Json[]} fits @param {Json} part @returns {Interval[]} */
export function intervalsOf(fits, part) {
  const { sentAt, droppedAt } = fitsOf(fits, part);
  /** @type {Interval[]} */
  const intervals = [];
  for (const budget of sentAt) {
    const last = intervals.at(-1);
    const isNext = last !== undefined && !droppedAt.some(other => last.last < other && other < budget);
    if (isNext) last.last = budget;
    else intervals.push({ first: budget, last: budget });
  }
  return intervals;
}

/** @param {Interval[]} intervals */
export function intervalText(intervals) {
  return `with ${intervals.map(({ first, last }) => first === last ? tokens(first) : `${tokens(first)} to ${tokens(last)}`).join(", ")}`;
}

/** Return a sentence on the budgets with which a dropped part is sent. @param {Json[]} fits @param {Json} part */
export function fitsSentence(fits, part) {
  const { tried, sentAt, droppedAt } = fitsOf(fits, part);
  if (tried === 0) return "";
  if (sentAt.length === 0) return "It is sent with none of the budgets that were tried.";
  const list = (/** @type {number[]} */ budgets) => budgets.slice(0, 6).map(budget => budget.toLocaleString("en")).join(", ") + (budgets.length > 6 ? ", …" : "");
  const droppedText = droppedAt.length > 0 ? `, but not with ${list(droppedAt)}` : "";
  return `It is sent with a budget of ${list(sentAt)}${droppedText} (${tried} budgets were tried).`;
}

/** Return the role of a message in the prompt (`written`) and in the payload (`sent`). @param {Json} record @param {number} index */
export function rolesOf(record, index) {
  const written = record.messages[index].role;
  const sent = new Set((record.sent?.[index] ?? []).filter(Boolean).map((/** @type {Json} */ block) => block.role));
  if (record.sent == null) return { written, sent: "", isSent: true };
  if (sent.size === 0) return { written, sent: "", isSent: (record.messages[index].content.length === 0) };
  return { written, sent: [...sent].join(", "), isSent: true };
}
