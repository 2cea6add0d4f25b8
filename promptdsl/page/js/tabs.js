// The tabs next to the messages: payloads, hints and losses, changes, budgets, settings, inputs, side by side.

import { curlCommand, pythonCode } from "./code.js";
import { copy, counted, element, shownText } from "./dom.js";
import { budgetLine, cacheFigures, money, priceOf, rolesOf, targetOf, tokens, totalOf } from "./numbers.js";
import { marksOf, pointIn, pointOf, showPayload, spanAt } from "./payloads.js";
import { state } from "./state.js";
import { entriesOf, jsonText, without } from "./values.js";

/** @typedef {import("./values.js").Json} Json */
/** @typedef {import("./values.js").PageData} PageData */

export const TABS = { payload: "Payload", losses: "Hints and losses", changes: "Changes", budgets: "Budgets", settings: "Settings", inputs: "Inputs", beside: "Side by side" };

/** @typedef {{data: PageData, request: Json, go: (message: number) => void, point: (at: import("./state.js").Point|null) => void, link: (source: string) => Node|null, choose: (change: Json) => void}} Context */

/** Return the name of the visible tab: the chosen tab; else the payload, or the changes if there is no payload. @param {Json} request */
export function chosenTab(request) {
  if (Object.hasOwn(TABS, state.tab)) return state.tab;
  return entriesOf(request.targets).length === 0 && request.changes ? "changes" : "payload";
}

/** Show a tab; return a function that marks the point in it, and one that closes it. @param {HTMLElement} parent @param {Context} context */
export function showTab(parent, context) {
  const { request } = context;
  const name = chosenTab(request);
  if (name === "payload") return payloadTab(parent, context);
  if (name === "losses") parent.replaceChildren(...lossRows(request, context));
  else if (name === "changes") parent.replaceChildren(...changeRows(request, context));
  else if (name === "budgets") parent.replaceChildren(...budgetRows(request));
  else if (name === "settings") parent.replaceChildren(settingRows(request));
  else if (name === "inputs") parent.replaceChildren(element("pre", { tabindex: "0" }, ...shownText(jsonText(request.record?.inputs ?? null))));
  else parent.replaceChildren(...comparedRows(context));
  return { mark() {}, close() {} };
}

/** @param {HTMLElement} parent @param {Context} context */
function payloadTab(parent, { request, point, choose, data, link }) {
  const names = entriesOf(request.targets).map(([target]) => target);
  const nothing = { mark() {}, close() {} };
  if (names.length === 0) {
    const why = data.content ? "To have payloads in this page, write --for MODEL." : "A page without content has no payloads.";
    parent.replaceChildren(element("p", { class: "quiet" }, why));
    return nothing;
  }
  const name = names.includes(state.target) ? state.target : names[0];
  const buttons = names.map(targetName => element("button", {
    type: "button", "aria-pressed": String(targetName === name), click: () => choose({ target: targetName }),
  }, ...shownText(targetName)));
  const target = request.targets[name];
  const head = element("div", { class: "buttons", role: "group", "aria-label": "targets" }, buttons);
  if (target.error) {
    parent.replaceChildren(head, errorBox(target.error));
    return nothing;
  }
  head.append(...copyButtons(target));
  const where = element("div", { class: "where", "aria-live": "polite" });
  const body = element("div", { class: "json", tabindex: "0", role: "region", "aria-label": `payload for ${name}` });
  const facts = [counted(target.tokens, "token"), counted(target.losses.filter((/** @type {Json} */ loss) => loss.kind !== "hint").length, "loss").replace(/losss$/, "losses"), `${target.dropped.length} left out`];
  const shownFor = targetOf(request.record);
  const otherTarget = shownFor && shownFor !== name ? ` The budget, the parts and the messages of the page are for ${shownFor}.` : "";
  const hint = element("span", {}, " Click a piece of a message to see where it is sent.");
  parent.replaceChildren(head, element("p", { class: "quiet" }, `For ${name}: ${facts.join(" · ")}.${otherTarget}`, hint), where, body);
  const payloadView = showPayload(body, target.payload, target.locations, (location, offset) => point(pointOf(request.record, target, location, offset)));
  return {
    mark() {
      hint.hidden = state.point !== null;
      where.replaceChildren(...whereRows(request, data, link));
      payloadView.mark(marksOf(request.record, target, state.point));
    },
    close: payloadView.close,
  };
}

/** Return the buttons that copy a payload: as JSON, as Python for the SDK, and as a command for sh. @param {Json} target */
function copyButtons(target) {
  const sent = /** @type {import("./code.js").Sent} */ (/** @type {any} */ (target));
  const ways = { JSON: () => jsonText(sent.payload), Python: () => pythonCode(sent), curl: () => curlCommand(sent) };
  return Object.entries(ways).filter(([name]) => name === "JSON" || target.api).map(([name, write]) => {
    const button = element("button", { type: "button", "data-copy": name, click: () => copy(button, write()) }, `Copy ${name}`);
    return button;
  });
}

/** Return a row for each target: where it gets the piece, its role, and what is lost. @param {Json} request @param {PageData} data @param {Context["link"]} link */
function whereRows(request, data, link) {
  const { point } = state;
  if (point === null || !data.content) return [];
  const rows = entriesOf(request.targets).map(([name, target]) => {
    if (target.error) return element("tr", {}, element("th", { scope: "row" }, ...shownText(name)), element("td", { colspan: 3 }, "cannot be made"));
    const marks = marksOf(request.record, target, point);
    const nothing = nothingAt(request.record, target, point);
    const losses = target.losses.filter((/** @type {Json} */ loss) => marks.some(({ at }) => loss.at?.[0] === at[0] && (loss.at[1] ?? at[1]) === at[1]));
    return element("tr", {}, element("th", { scope: "row" }, ...shownText(name)),
      element("td", {}, marks.map(mark => mark.role).join(", ") || nothing),
      element("td", {}, element("code", {}, marks.map(mark => mark.address).join(", "))),
      element("td", {}, ...shownText(losses.map((/** @type {Json} */ loss) => loss.why).join("; "))));
  });
  const heads = ["target", "role", "address", "lost"].map(name => element("th", { scope: "col" }, name));
  if (rows.length === 0) return [];
  const span = spanAt(request.record, point) ?? {};
  const origin = [span.kind, span.label, span.address].filter(Boolean).join(" · ");
  return [element("p", {}, "You point at: ", ...shownText(origin || "a text"), " ", link(span.source ?? "")), element("table", {}, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows))];
}

/** Return why a piece has no location in a payload. @param {Json} record @param {Json} target @param {import("./state.js").Point} point */
function nothingAt(record, target, point) {
  if (spanAt(record, point) === undefined) return "not known";
  return pointIn(record, target, point) === null ? "not written for this target" : "not sent";
}

/** @param {Json} error */
export function errorBox(error) {
  const rows = (error.rows ?? []).filter((/** @type {Json} */ row) => row.depth === 0);
  const largest = Math.max(1, ...rows.map((/** @type {Json} */ row) => row.tokens));
  const bars = rows.map((/** @type {Json} */ row) => element("div", { class: "row", vars: { "--share": (row.tokens / largest).toFixed(4), "--depth": 0 } },
    element("span", { class: "part" }, ...shownText(row.what)), element("span", { class: "count" }, tokens(row.tokens)), element("span", { class: "bar", "aria-hidden": "true" })));
  const budget = error.budget ? element("p", {}, `The prompt needs ${tokens(error.required)} tokens, but the budget leaves ${tokens(error.budget.room)} (${tokens(error.budget.limit)} − ${tokens(error.budget.reserve)} reserved).`) : null;
  const failed = Number(error.at[0]?.split(":").at(-1));
  const code = (error.code ?? []).map((/** @type {Json} */ line) => element(line.line === failed ? "mark" : "span", {}, ...shownText(`${line.line === failed ? "→" : " "}${String(line.line).padStart(5)}  ${line.text}\n`)));
  return element("div", { class: "error", role: "alert" },
    element("p", {}, element("b", {}, "Error: "), ...shownText((error.rows ? error.what.split("\n")[0] : error.what) || "This request could not be made.")),
    error.fix ? element("p", {}, ...shownText(error.fix)) : null, budget, bars,
    error.at.length > 0 ? element("p", {}, element("code", {}, ...shownText(error.at.join(", ")))) : null,
    code.length > 0 ? element("pre", { tabindex: "0" }, code) : null);
}

/** @param {Json} request @param {Context} context */
function lossRows(request, { go, link }) {
  /** @type {Json[]} */
  const losses = request.record?.losses ?? [];
  if (losses.length === 0) return [element("p", { class: "quiet" }, "Nothing is lost, and there is no hint.")];
  const sorted = [...losses].sort((first, second) => Number(first.kind === "hint") - Number(second.kind === "hint"));
  return sorted.map(loss => element("div", { class: loss.kind === "hint" ? "hint" : "loss" },
    element("b", {}, loss.kind === "hint" ? "hint" : "lost"), " ", ...shownText([loss.what, loss.why].filter(Boolean).join(": ")), " ",
    loss.path ? element("small", {}, ...shownText(loss.path)) : null, " ", link(loss.source ?? ""),
    loss.at ? element("button", { type: "button", click: () => go(loss.at[0]) }, `message ${loss.at[0]}`) : null));
}

/** @param {Json} request @param {Context} context */
function changeRows(request, { link }) {
  const { changes, prefix } = request;
  const { first } = prefix ?? {};
  const served = prefix ? [element("p", {}, `${tokens(prefix.shared)} of ${tokens(prefix.after)} tokens are equal to the beginning of the previous request; ${tokens(prefix.read_from_cache)} come from a cache.`)] : [];
  const where = first ? [element("p", {}, "The first difference: ", ...shownText(`${first.what} ${first.how}`), " ", link(first.source ?? ""))] : [];
  const isContent = (/** @type {Json} */ change) => [change.location].flat()[0] !== "header";
  const { shared, behind } = changes?.prefix ?? {};
  if (!prefix && changes?.prefix) served.push(element("p", {}, `About ${tokens(shared)} of ${tokens(shared + behind)} tokens are equal to the beginning of the previous prompt.`));
  if (!changes) return [element("p", { class: "quiet" }, "There are no changes to show: there is no previous request, or this page does not have its text."), ...served];
  const rows = changes.changes.filter(isContent).map((/** @type {Json} */ change) => element("details", { open: changes.changes.length <= 10 },
    element("summary", {}, element("b", {}, change.kind), " ", ...shownText([change.location].flat().join(" › ")), change.tokens ? ` ${change.tokens > 0 ? "+" : ""}${change.tokens} tokens` : ""),
    change.before === null || change.before === undefined ? null : element("p", { class: "text old" }, element("b", {}, "before "), element("bdi", {}, ...shownText(String(change.before)))),
    change.after === null || change.after === undefined ? null : element("p", { class: "text new" }, element("b", {}, "after "), element("bdi", {}, ...shownText(String(change.after))))));
  return [element("p", {}, ...shownText(changes.sentence || "nothing changed")), ...served, ...where, ...rows];
}

/** @param {Json} request */
function budgetRows(request) {
  /** @type {Json[]} */
  const fits = request.fits;
  if (fits.length === 0) return [element("p", { class: "quiet" }, "To see other budgets here, render a prompt for this page with --budget.")];
  const limit = request.record?.budget?.limit;
  const rows = fits.map(fit => element("tr", { "aria-current": fit.budget === limit ? "true" : null },
    element("th", { scope: "row" }, fit.budget.toLocaleString("en")), element("td", {}, fit.tokens === null ? "too small" : tokens(fit.tokens)),
    element("td", {}, ...(Array.isArray(fit.dropped) ? shownText(fit.dropped.map((/** @type {Json} */ part) => [...new Set([part.what, part.path])].filter(Boolean).join(" ")).join(", ") || "nothing") : [`${fit.dropped} parts`]))));
  const heads = ["budget", "tokens", "left out"].map(name => element("th", { scope: "col" }, name));
  return [element("table", {}, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows))];
}

/** @param {Json} request */
function settingRows(request) {
  const record = request.record;
  const rows = entriesOf(record?.settings ?? {}).map(([name, setting]) => element("tr", {},
    element("th", { scope: "row" }, name), element("td", {}, element("code", {}, ...shownText(jsonText(setting?.value ?? null, 1)))), element("td", {}, setting?.layer ?? "")));
  const libraries = (record?.libraries ?? []).map((/** @type {Json} */ library) => element("tr", {}, element("th", { scope: "row" }, ...shownText(library.name)), element("td", {}, library.version ?? "no version"), element("td", {}, "library")));
  const heads = ["setting", "value", "set by"].map(name => element("th", { scope: "col" }, name));
  return element("table", {}, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows, libraries));
}

/** Compare the request with another request of the page. @param {Context} context */
function comparedRows({ data, request, choose }) {
  const options = data.prompts.flatMap((prompt, promptIndex) => prompt.requests.map((_, index) => {
    const value = `${promptIndex}.${index}`;
    const label = prompt.requests.length > 1 ? `${prompt.name}, request ${index + 1}` : prompt.name;
    return element("option", { value, selected: value === state.compared }, ...shownText(label));
  }));
  const select = /** @type {HTMLSelectElement} */ (element("select", { change: () => choose({ compared: select.value }) }, element("option", { value: "" }, "choose"), options));
  const picker = element("label", {}, "Compare with ", select);
  const [prompt, index] = state.compared.split(".").map(Number);
  if (!state.compared || data.prompts[prompt]?.requests[index] === undefined) return [picker];
  const other = data.request(prompt, index);
  const requests = [request, other];
  const heads = ["", "this", "other"].map(name => element("th", { scope: "col" }, name || element("span", { class: "away" }, "number")));
  const rows = NUMBERS.map(([name, valueOf]) => {
    const cells = requests.map(side => String(valueOf(side, data)));
    return element("tr", { class: cells[0] === cells[1] ? null : "different" }, element("th", { scope: "row" }, name), cells.map(cell => element("td", {}, ...shownText(cell))));
  });
  const count = Math.max(...requests.map(side => side.record?.messages.length ?? 0));
  const texts = Array.from({ length: Math.min(count, 200) }, (_, messageIndex) => {
    const cells = requests.map(side => textAt(side, messageIndex));
    return element("tr", { class: cells[0] === cells[1] ? "same" : "different" }, element("th", { scope: "row" }, String(messageIndex)), cells.map(cell => element("td", { class: "text" }, element("bdi", {}, ...shownText(cell)))));
  });
  return [picker, element("table", {}, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows)),
    element("table", { class: "texts" }, element("caption", {}, count > 200 ? "The first 200 messages" : "Messages"), element("tbody", {}, texts))];
}

/** @type {[string, (request: Json, data: PageData) => string|number][]} */
const NUMBERS = [
  ["model", ({ record }) => record?.model.model ?? record?.model.provider ?? "none"],
  ["tokens", ({ record }) => budgetLine(record)],
  ["from the cache", request => tokens(cacheFigures(request).cached)],
  ["messages", ({ record }) => record?.messages.length ?? 0],
  ["roles", ({ record }) => roleCounts(record)],
  ["left out", ({ record }) => (record?.dropped ?? []).map((/** @type {Json} */ part) => part.path || part.what).join(", ") || "nothing"],
  ["lost", ({ record }) => (record?.losses ?? []).filter((/** @type {Json} */ loss) => loss.kind !== "hint").map((/** @type {Json} */ loss) => loss.what).join(", ") || "nothing"],
  ["price", (request, data) => { const price = priceOf(request, data.price); return price === null ? "not known" : money(price.cost); }],
];

/** Return the number of messages of each role, as text. @param {Json|null} record */
function roleCounts(record) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  record?.messages.forEach((/** @type {Json} */ _, /** @type {number} */ index) => {
    const { sent, written } = rolesOf(record, index);
    counts.set(sent || written, (counts.get(sent || written) ?? 0) + 1);
  });
  return [...counts].map(([role, count]) => `${role} ${count}`).join(", ");
}

/** @param {Json} request @param {number} index */
function textAt(request, index) {
  const message = request.record?.messages[index];
  if (message === undefined) return "";
  const texts = message.content.map((/** @type {Json} */ block) => block.text ?? jsonText(without(block, ["cache"]), 1));
  return `${message.role}: ${texts.join("\n")}`;
}

/** Return the line on the price of a request. @param {Json} request @param {PageData} data */
export function priceLine(request, data) {
  const price = priceOf(request, data.price);
  if (price === null || totalOf(request.record) === 0) return "";
  const saved = price.saved > 0 ? `; without the cache ${money(price.cost + price.saved)}` : "";
  return `input price ${money(price.cost)}${saved}; ${money(price.cost * 1000)} for 1,000 requests`;
}
