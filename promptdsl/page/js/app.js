// The page: it reads the data, shows a request, and stores what the reader chose. Read `open` and `showing` first.

import { showCalls } from "./calls.js";
import { counted, element, inSteps, shownText } from "./dom.js";
import { showMessages } from "./messages.js";
import { budgetLine, cacheWords, targetOf, tokens } from "./numbers.js";
import { showInside } from "./payloads.js";
import { readAddress, state, writeAddress } from "./state.js";
import { TABS, chosenTab, errorBox, priceLine, showTab } from "./tabs.js";
import { showTree } from "./tree.js";
import { jsonText, readData, without } from "./values.js";

/** @typedef {import("./values.js").Json} Json */

let data = readData(JSON.parse(document.getElementById("data")?.textContent ?? "{}"), [...document.querySelectorAll(/** @type {"script"} */ ("script.values"))]);
const app = /** @type {HTMLElement} */ (document.getElementById("app"));
const EDITOR = "vscode://file/{file}:{line}";
/** The suggested addresses of editors. */
const EDITORS = [EDITOR, "cursor://file/{file}:{line}", "idea://open?file={file}&line={line}", "zed://file/{file}:{line}"];
const KEYS = [
  ["j / k", "next or previous message"], ["← / →", "next or previous piece of the message"], ["[ / ]", "previous or next request"],
  ["d", "next part that was left out"], ["t", "next tab"], ["/", "search"], ["?", "this list"], ["Esc", "stop pointing"],
];

/** @param {string} tag @param {string} id @param {Record<string, any>=} attributes */
const zone = (tag, id, attributes = {}) => element(tag, { id, ...attributes });
const zones = {
  title: zone("h1", "title"),
  notice: zone("p", "notice"),
  budget: zone("div", "budget"),
  calls: zone("section", "calls", { "aria-label": "requests" }),
  error: zone("div", "error"),
  tree: zone("div", "tree-rows"),
  messages: zone("div", "message-list"),
  tab: zone("div", "tab", { role: "tabpanel", tabindex: "0" }),
  status: zone("p", "status", { role: "status" }),
};
const search = /** @type {HTMLInputElement} */ (element("input", { type: "search", id: "q", placeholder: "text", autocomplete: "off", input: () => { state.query = search.value; find(0); writeAddress(); } }));
const matches = zone("output", "matches", { for: "q" });
const prompts = /** @type {HTMLSelectElement} */ (element("select", { id: "prompt", change: () => open(Number(prompts.value), 0) }));
const requests = /** @type {HTMLSelectElement} */ (element("select", { id: "request", change: () => open(state.prompt, Number(requests.value)) }));
const treeBox = /** @type {HTMLDetailsElement} */ (element("details", { id: "tree", toggle: () => { state.isTreeOpen = treeBox.open; writeAddress(); } }, element("summary", {}, element("h2", {}, "Parts")), zones.tree));
const help = /** @type {HTMLDialogElement} */ (element("dialog", { id: "help", "aria-labelledby": "help-title" }));

/** The parts of the tree that the reader opened or closed. @type {Map<string, boolean>} */
const folds = new Map();
/** @type {Json} */
const NOTHING = { error: null, record: null, prefix: null, changes: null, fits: [], targets: {}, figures: { total: 0, cached: 0, same: 0, dropped: 0 } };
let request = NOTHING;
/** @type {ReturnType<typeof showMessages>|null} */
let messages = null;
/** @type {{mark: () => void, close: () => void}|null} */
let tab = null;
/** @type {number[]} */
let hits = [];
let current = -1;

/** Return the folder of the sources on this machine: what the reader wrote, else that of the record. */
function sourceRoot() { return stored("root") ?? request.record?.root ?? ""; }

/** @param {string} name @returns {string|null} */
function stored(name) {
  try { return localStorage.getItem(`promptdsl.${name}`); } catch { return null; }
}

/** @param {string} name @param {string} text */
function store(name, text) {
  try { localStorage.setItem(`promptdsl.${name}`, text); } catch { /* a browser may store nothing for files */ }
}

/** @param {string} path */
function encodedPath(path) {
  const text = path.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
  return encodeURI(text).replace(/[#?&]/g, encodeURIComponent);
}

/** Return the link that opens a source line in an editor. @param {string} source */
function link(source) {
  const match = /^(.*):(\d+)$/s.exec(source);
  if (match === null) return null;
  const [, file, line] = match;
  const full = /^([/\\<]|[A-Za-z]:)/.test(file) ? file : sourceRoot() + file;
  const address = (stored("editor") ?? EDITOR).replace("{file}", () => encodedPath(full)).replace("{line}", line);
  const isSafe = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) && !/^(javascript|data|vbscript|https?|file):/i.test(address);
  const name = `${file.split(/[/\\]/).at(-1)}:${line}`;
  return element(isSafe ? "a" : "span", { class: "source", href: isSafe ? address : null, title: source }, ...shownText(name));
}

/** Stops opening a request when another request is opened. */
let stop = () => {};

/** Open a request; `then` is called when it is shown. @param {number} prompt @param {number} index @param {() => void} then */
function open(prompt, index, then = () => {}) {
  if (data.prompts.length === 0) return;
  if (prompt !== state.prompt) folds.clear();
  state.prompt = Math.min(Math.max(prompt, 0), data.prompts.length - 1);
  state.request = Math.min(Math.max(index, 0), data.prompts[state.prompt].requests.length - 1);
  state.point = null;
  state.part = "";
  stop();
  stop = inSteps(opening(then));
}

/** Read the request and show it, step by step. @param {() => void} then */
function* opening(then) {
  zones.status.textContent = "The request is being read.";
  app.setAttribute("aria-busy", "true");
  yield* data.reading(state.prompt, state.request);
  yield* showing();
  zones.status.textContent = "";
  app.removeAttribute("aria-busy");
  then();
}

function show() { open(state.prompt, state.request); }

/** The prompt whose requests are in the list. */
let listed = -1;

/** Show the request, one zone after the other. */
function* showing() {
  request = state.request < 0 ? NOTHING : data.request(state.prompt, state.request);
  const { name, requests: all } = data.prompts[state.prompt];
  zones.title.replaceChildren(...shownText(name));
  prompts.value = String(state.prompt);
  if (listed !== state.prompt) {
    listed = state.prompt;
    requests.replaceChildren(...all.map((/** @type {Json} */ _, /** @type {number} */ index) => element("option", { value: index }, requestName(index))));
  }
  requests.value = String(state.request);
  /** @type {HTMLElement} */ (requests.parentElement).hidden = all.length < 2;
  showBudget();
  yield;
  showCalls(zones.calls, data, state.prompt, state.request, index => open(state.prompt, index));
  zones.error.replaceChildren(...(request.error ? [errorBox(request.error)] : []));
  messages?.list.close();
  messages = null;
  current = -1;
  if (request.record) {
    yield;
    showTree(zones.tree, request, { go: goToPart, link, folds });
    yield;
    messages = showMessages(zones.messages, request, { point: pointAt, link });
  } else {
    zones.tree.replaceChildren();
    zones.messages.replaceChildren(element("p", { class: "quiet" }, "There is no request to show."));
  }
  yield;
  showChosenTab();
  yield;
  find(0);
  writeAddress();
}

/** @param {number} index */
function requestName(index) {
  const { at, id } = data.request(state.prompt, index);
  return [`${index + 1}`, at ? at.slice(0, 19).replace("T", " ") : "", id ?? ""].filter(Boolean).join(" · ");
}

function showBudget() {
  const { record, fits } = request;
  const budget = record?.budget;
  const limit = Math.max(budget?.limit ?? record?.tokens?.total ?? 1, 1);
  const largest = Math.max(limit, ...(fits ?? []).map((/** @type {Json} */ fit) => fit.budget));
  const share = (/** @type {number} */ count) => `${(100 * count / largest).toFixed(2)}%`;
  const used = budget?.used ?? record?.tokens?.total ?? 0;
  const marks = (fits ?? []).map((/** @type {Json} */ fit) => element("span", {
    class: fit.budget === budget?.limit ? "fit current" : "fit", vars: { "--at": share(fit.budget) }, title: fitName(fit), "data-budget": tokens(fit.budget),
  }));
  const price = priceLine(request, data);
  zones.budget.replaceChildren(
    element("p", {}, element("b", {}, [targetOf(record), budgetLine(record)].filter(Boolean).join(": "), cacheWords(request)), price ? ` · ${price}` : ""),
    element("div", { class: "budgetbar", "aria-hidden": "true" }, [["used", used], ["free", budget?.free ?? 0], ["reserve", budget?.reserve ?? 0]].map(
      ([name, count]) => element("i", { class: name, vars: { "--share": share(Number(count)) } }))));
  if (marks.length > 0) zones.budget.append(element("button", { type: "button", class: "fits", "aria-label": `show the ${counted(marks.length, "budget")} that were tried`, click: () => choose({ tab: "budgets" }) }, marks));
  const names = budget ? [["used", "used"], ["free", "free"], ["reserve", "for the answer"]] : [];
  const legend = names.map(([name, text]) => element("span", { class: "legend" }, element("i", { class: name, "aria-hidden": "true" }), text));
  const ticks = marks.length > 0 ? element("span", { class: "legend" }, "lines: other budgets that were tried; the thick line is this budget") : null;
  const label = record?.tokens?.label ? `Counted by ${record.tokens.label}.` : "";
  zones.budget.append(element("p", { class: "quiet" }, legend, ticks, ...shownText(label)));
}

/** @param {Json} fit */
function fitName(fit) {
  if (fit.tokens === null) return `budget ${fit.budget.toLocaleString("en")}: too small`;
  const count = Array.isArray(fit.dropped) ? fit.dropped.length : fit.dropped;
  return `budget ${fit.budget.toLocaleString("en")}: ${counted(fit.tokens, "token")}, ${counted(count, "part")} left out`;
}

/** @param {Json} change */
function choose(change) {
  Object.assign(state, change);
  showChosenTab();
  writeAddress();
}

const tabButtons = Object.entries(TABS).map(([name, label]) => element("button", {
  type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "tab", click: () => choose({ tab: name }), keydown: moveTab,
}, label));

/** Go to the next or the previous tab. @param {KeyboardEvent} event */
function moveTab(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step === undefined) return;
  event.stopPropagation();
  nextTab(step);
  document.getElementById(`tab-${state.tab}`)?.focus();
}

/** @param {number} step */
function nextTab(step) {
  const names = Object.keys(TABS);
  choose({ tab: names[(names.indexOf(chosenTab(request)) + step + names.length) % names.length] });
}

function showChosenTab() {
  const chosen = chosenTab(request);
  tabButtons.forEach((button, index) => {
    const isChosen = Object.keys(TABS)[index] === chosen;
    button.setAttribute("aria-selected", String(isChosen));
    button.tabIndex = isChosen ? 0 : -1;
  });
  zones.tab.setAttribute("aria-labelledby", `tab-${chosen}`);
  tab?.close();
  const point = (/** @type {import("./state.js").Point|null} */ at) => {
    zones.status.textContent = at === null ? "This text is in no message of this page." : "";
    if (at !== null) goToMessage(at.message);
    pointAt(at);
  };
  tab = showTab(zones.tab, { data, request, go: goToMessage, point, link, choose });
  mark();
}

/** Point at a piece, or choose the part that has a path. @param {import("./state.js").Point|null} point @param {string} part */
function pointAt(point, part = "") {
  state.point = point;
  state.part = part;
  mark();
}

/** Mark what the reader points at, in the messages and in the payload. */
function mark() {
  messages?.mark();
  tab?.mark();
  writeAddress();
}

/** Show a message. @param {number} index */
function goToMessage(index) {
  const card = messages?.at(index);
  if (card) focusCard(card);
}

/** Show a message, and mark the text of a part in it. @param {number} index @param {string} path */
function goToPart(index, path) {
  pointAt(null, path);
  goToMessage(index);
  const piece = zones.messages.querySelector(".pointed");
  if (piece) reveal(piece);
}

/** @param {HTMLElement} card */
function focusCard(card) {
  card.focus({ preventScroll: true });
  reveal(card);
}

/** Scroll the messages so that an element in them is visible. @param {Element} descendant */
function reveal(descendant) {
  if (zones.messages.scrollHeight > zones.messages.clientHeight + 1) showInside(zones.messages, descendant);
  else descendant.scrollIntoView({ block: "nearest" });
}

/** Go to the next or the previous card of a kind. @param {number} step @param {(kind: string) => boolean} isKind */
function move(step, isKind) {
  if (messages === null) return;
  for (let index = current + step; index >= 0 && index < messages.items.length; index += step) {
    if (!isKind(messages.items[index].kind)) continue;
    current = index;
    const card = messages.list.at(index);
    if (card) focusCard(card);
    return;
  }
}

/** Go to the next piece of the message that has the focus. @param {number} step */
function movePiece(step) {
  const card = document.activeElement?.closest("article");
  const pieces = [.../** @type {NodeListOf<HTMLElement>} */ (card?.querySelectorAll(".piece") ?? [])];
  const at = pieces.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  pieces[Math.min(Math.max(at + step, 0), pieces.length - 1)]?.focus();
}

/** Find the messages with the words of the search, and go to one of them. @param {number} step */
function find(step) {
  const words = searched();
  if (step === 0) hits = words === null || !request.record ? [] : request.record.messages.flatMap((/** @type {Json} */ message, /** @type {number} */ index) => message.content.some((/** @type {Json} */ block) => textOf(block).search(words) >= 0) ? [index] : []);
  matches.textContent = words === null ? "" : counted(hits.length, "message");
  highlight();
  if (step === 0 || hits.length === 0) return;
  const next = hits.find(index => index > lastHit) ?? hits[0];
  lastHit = next;
  const card = messages?.at(next);
  if (card) focusCard(card);
  search.focus();
}
let lastHit = -1;

/** Return the words of the search as an expression, null without words. */
function searched() {
  return state.query === "" ? null : new RegExp(state.query.replace(/[.*+?^${}()|[\]\\\/-]/g, "\\$&"), "gi");
}

/** Return the text of a block, with its names and its values, but without bytes. @param {Json} block @returns {string} */
function textOf(block) {
  if (block.type === "text") return block.text ?? "";
  const { content } = block;
  const rest = without(block, ["type", "source", "content", "cache"]);
  const inner = Array.isArray(content) ? content.map(textOf) : [];
  return [...Object.values(rest).map(part => typeof part === "string" ? part : jsonText(part, 1)), ...inner].join("\n");
}

/** Highlight the words of the search in the messages that are drawn. */
function highlight() {
  if (!("highlights" in CSS)) return;
  const words = searched();
  /** @type {Range[]} */
  const ranges = [];
  const walker = document.createTreeWalker(zones.messages, NodeFilter.SHOW_TEXT);
  for (let node = words ? walker.nextNode() : null; node !== null; node = walker.nextNode()) {
    for (const match of (node.textContent ?? "").matchAll(/** @type {RegExp} */ (words))) {
      const range = new Range();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      ranges.push(range);
    }
  }
  const highlighted = new Highlight();
  ranges.forEach(range => highlighted.add(range));
  CSS.highlights.set("found", highlighted);
}

/** Show how many tokens are selected, and their share of the request. */
function showSelection() {
  const selection = getSelection();
  if (selection === null || selection.isCollapsed || selection.rangeCount === 0) {
    zones.status.textContent = "";
    return;
  }
  const range = selection.getRangeAt(0);
  let count = 0;
  for (const piece of zones.messages.querySelectorAll(".piece")) {
    if (!range.intersectsNode(piece)) continue;
    const part = document.createRange();
    part.selectNodeContents(piece);
    if (part.comparePoint(range.startContainer, range.startOffset) === 0) part.setStart(range.startContainer, range.startOffset);
    if (part.comparePoint(range.endContainer, range.endOffset) === 0) part.setEnd(range.endContainer, range.endOffset);
    const size = (piece.textContent ?? "").length || 1;
    count += Number(/** @type {HTMLElement} */ (piece).dataset.tokens) * part.toString().length / size;
  }
  const total = request.record?.tokens?.total ?? 0;
  zones.status.textContent = count > 0 && total > 0 ? `about ${counted(Math.max(Math.round(count), 1), "token")} selected, ${(100 * count / total).toFixed(1)} % of the request` : "";
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const isTyping = target.matches("input, textarea, select");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" && target === search) return find(1);
  if (isTyping && event.key !== "Escape") return;
  const isMessage = (/** @type {string} */ kind) => kind === "message";
  /** @type {Record<string, () => void>} */
  const actions = {
    j: () => move(1, isMessage), k: () => move(-1, isMessage),
    d: () => move(1, kind => kind === "dropped"),
    "]": () => open(state.prompt, state.request + 1), "[": () => open(state.prompt, state.request - 1),
    t: () => nextTab(1), "/": () => search.focus(), "?": () => help.showModal(),
    ArrowRight: () => movePiece(1), ArrowLeft: () => movePiece(-1),
    Escape: () => { pointAt(null); (/** @type {HTMLElement|null} */ (document.activeElement))?.blur(); },
  };
  const action = actions[event.key];
  if (action === undefined || help.open) return;
  if (event.key.startsWith("Arrow") && !target.closest("article")) return;
  event.preventDefault();
  action();
}

/** @param {string} name @param {string} label @param {string} defaultText @param {string[]} suggestions */
function setting(name, label, defaultText, suggestions = []) {
  const list = element("datalist", { id: `${name}-list` }, suggestions.map(value => element("option", { value })));
  const input = /** @type {HTMLInputElement} */ (element("input", { type: "text", list: list.id, change: () => { store(name, input.value); show(); } }));
  input.value = stored(name) ?? defaultText;
  return element("label", {}, label, input, list);
}

/** Return the request that is shown. */
export function shownRequest() { return request; }

/**
 * Show other data. What the reader opened, chose and scrolled to stays. `then` is called after that.
 * @param {Json} json @param {number} prompt @param {() => void} then
 */
export function showData(json, prompt, then) {
  const { point, part } = state;
  const restore = prompt === state.prompt ? notedView() : () => {};
  data = readData(json);
  listPrompts();
  open(prompt, state.request, () => {
    pointAt(point, part);
    restore();
    then();
  });
}

/** Note what the reader sees; return a function that shows it again. */
function notedView() {
  const list = zones.messages;
  const top = Math.max(list.getBoundingClientRect().top, 0);
  const first = [...list.querySelectorAll("article[data-message]")].find(card => card.getBoundingClientRect().bottom > top);
  const index = Number(/** @type {HTMLElement|undefined} */ (first)?.dataset.message ?? -1);
  const offset = first ? first.getBoundingClientRect().top - list.getBoundingClientRect().top : 0;
  const isFocused = list.contains(document.activeElement);
  const focused = Number(/** @type {HTMLElement|null|undefined} */ (document.activeElement?.closest("article[data-message]"))?.dataset.message ?? -1);
  const scrolled = [zones.tree, zones.tab].map(box => ({ box, top: box.scrollTop }));
  const json = zones.tab.querySelector(".json")?.scrollTop ?? 0;
  const opened = new Set([...app.querySelectorAll("main details[open]")].map(detailsName));
  const page = scrollY;
  return () => {
    app.querySelectorAll("main details").forEach(part => { if (opened.has(detailsName(part))) part.setAttribute("open", ""); });
    const card = messages?.at(index);
    if (card && index >= 0) list.scrollTop += card.getBoundingClientRect().top - list.getBoundingClientRect().top - offset;
    if (isFocused && focused >= 0) messages?.at(focused)?.focus({ preventScroll: true });
    scrolled.forEach(({ box, top: oldTop }) => { box.scrollTop = oldTop; });
    const payload = zones.tab.querySelector(".json");
    if (payload) payload.scrollTop = json;
    scrollTo(scrollX, page);
  };
}

/** Return a name for a foldable element: the label of its card, and its summary. @param {Element} part */
function detailsName(part) {
  return `${part.closest("article")?.getAttribute("aria-label") ?? ""}\n${part.querySelector("summary")?.textContent ?? ""}`;
}

function listPrompts() {
  prompts.replaceChildren(...data.prompts.map((/** @type {Json} */ prompt, /** @type {number} */ index) => element("option", { value: index }, ...shownText(prompt.name))));
  /** @type {HTMLElement} */ (prompts.parentElement).hidden = data.prompts.length < 2;
  const count = data.prompts.reduce((sum, prompt) => sum + prompt.requests.length, 0);
  zones.notice.textContent = data.content
    ? `This page contains the texts of ${counted(count, "request")}.`
    : `This page contains no texts of its ${counted(count, "request")}, but the ids of sections.`;
  listed = -1;
}

/** Return the folder of the sources of the first record. */
function firstRoot() {
  const promptIndex = data.prompts.findIndex(({ requests: all }) => all.length > 0);
  return promptIndex < 0 ? "" : data.request(promptIndex, 0).record?.root ?? "";
}

function build() {
  const close = element("button", { type: "button", click: () => help.close() }, "Close");
  help.append(element("h2", { id: "help-title" }, "Keys"), element("dl", {}, KEYS.map(([key, what]) => element("div", {}, element("dt", {}, element("kbd", {}, key)), element("dd", {}, what)))),
    element("h2", {}, "Links to source lines"), setting("root", "Folder of the sources on this machine ", firstRoot()), setting("editor", "Address of the editor ", EDITOR, EDITORS),
    element("p", {}, "The address of this page includes what you look at, so you can share it."), close);
  app.append(
    element("header", { id: "head" },
      element("div", { class: "heads" }, zones.title, zones.notice),
      element("div", { class: "controls", role: "search" },
        element("label", {}, "Prompt ", prompts), element("label", {}, "Request ", requests),
        element("label", {}, "Search ", search), matches, element("button", { type: "button", click: () => find(1) }, "Next"),
        element("button", { type: "button", "aria-label": "Keys and settings", click: () => help.showModal() }, "?")),
      zones.budget),
    zones.calls, zones.error,
    element("main", {},
      element("nav", { "aria-label": "parts" }, treeBox),
      element("section", { "aria-label": "messages" }, element("h2", {}, "Messages"), element("p", { class: "quiet" }, element("span", { class: "sample value" }, "underlined"), ": a value; ", element("span", { class: "sample volatile" }, "dashed"), ": it changes with each request"), zones.messages),
      element("section", { "aria-label": "details" }, element("div", { class: "tabs", role: "tablist", "aria-label": "details" }, tabButtons), zones.tab)),
    zones.status, help);
  treeBox.open = state.isTreeOpen && !matchMedia("(max-width: 700px)").matches;
  search.value = state.query;
  listPrompts();
}

readAddress(location.hash);
build();
if (data.prompts.length > 0) {
  const { point, part } = state;
  open(state.prompt, state.request, () => {
    pointAt(point, part);
    if (point) goToMessage(point.message);
  });
}
zones.messages.addEventListener("filled", highlight);
document.addEventListener("keydown", pressed);
document.addEventListener("selectionchange", showSelection);
