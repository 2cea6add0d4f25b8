// The page of the live preview: it shows each state that the server sends, and sends what the reader chooses.

import { counted, element, shownText } from "./dom.js";
import { intervalsOf, intervalText } from "./numbers.js";
import { writeAddress } from "./state.js";
import { errorBox } from "./tabs.js";
import { showData, shownRequest } from "./app.js";

/** @typedef {import("./values.js").Json} Json */

const TOKEN = "promptdsl.token";
/** With at least this many prompts, there is a field to search for a prompt. */
const MANY = 8;
/** The maximum number of parts with their budgets. */
const PARTS = 12;
/** The largest budget of the slider, as a multiple of the largest budget on the page. */
const BEYOND = 1.1;

/** The last state from the server. @type {Json} */
let current = { choices: {}, names: [], providers: [], work: "", error: null, output: "" };
/** @type {Json} */
let choices = { prompt: null, budget: null, model: null, targets: [] };
let isSending = false;
let hasUnsentChoice = false;
let workStart = 0;
/** Ends the stream of states. */
let stream = new AbortController();

/** @param {string} tag @param {string} id @param {Record<string, any>=} attributes */
const zone = (tag, id, attributes = {}) => element(tag, { id, ...attributes });
const zones = {
  state: zone("p", "live-state", { role: "status" }),
  error: zone("div", "live-error"),
  output: zone("details", "live-output", { hidden: true }),
  printed: zone("pre", "live-printed", { tabindex: "0" }),
  parts: zone("div", "live-parts"),
  targets: zone("span", "live-targets"),
  names: zone("datalist", "live-names"),
  models: zone("datalist", "live-models"),
};
const budgetSlider = /** @type {HTMLInputElement} */ (element("input", { type: "range", id: "live-slider", min: "1", step: "1", "aria-label": "budget in tokens", input: () => choose({ budget: budgetSlider.valueAsNumber }) }));
const budgetInput = /** @type {HTMLInputElement} */ (element("input", { type: "number", id: "live-budget", min: "1", step: "1", "aria-label": "budget in tokens", change: () => choose({ budget: budgetInput.value === "" ? null : Math.max(Math.round(budgetInput.valueAsNumber), 1) }) }));
const modelInput = /** @type {HTMLInputElement} */ (element("input", { type: "text", id: "live-model", list: "live-models", placeholder: "as started", autocomplete: "off", change: () => choose({ model: modelInput.value.trim() || null }) }));
const targetInput = /** @type {HTMLInputElement} */ (element("input", { type: "text", id: "live-target", list: "live-models", placeholder: "model or provider", autocomplete: "off", change: addTarget }));
const reset = element("button", { type: "button", id: "live-reset", click: () => choose({ budget: null, model: null, targets: [] }) }, "As started");
const nameInput = /** @type {HTMLInputElement} */ (element("input", { type: "search", id: "live-name", list: "live-names", placeholder: "search", autocomplete: "off", change: chooseName }));
const nameLabel = element("label", { hidden: true }, "Find prompt ", nameInput);

/** Show another budget, model, payload or prompt. @param {Json} change */
function choose(change) {
  choices = { ...choices, ...change };
  showChoices();
  hasUnsentChoice = true;
  void send();
}

/** Send the newest choice, when the server has answered the last one. */
async function send() {
  if (isSending) return;
  isSending = true;
  while (hasUnsentChoice) {
    hasUnsentChoice = false;
    try {
      const response = await fetch("/choices", { method: "POST", headers: { ...headers(), "content-type": "application/json" }, body: JSON.stringify(choices) });
      if (!response.ok) showState((await response.json()).error);
    } catch {
      showState("The preview does not answer.");
    }
  }
  isSending = false;
}

function headers() { return { "x-promptdsl-token": stored() ?? "" }; }

function stored() {
  try { return sessionStorage.getItem(TOKEN); } catch { return null; }
}

function chooseName() {
  if (!current.names.includes(nameInput.value)) return;
  choose({ prompt: nameInput.value });
  nameInput.value = "";
}

function addTarget() {
  const addedName = targetInput.value.trim();
  targetInput.value = "";
  if (addedName && !choices.targets.includes(addedName)) choose({ targets: [...choices.targets, addedName] });
}

/** Show what is chosen; without a choice, show the budget of the page. */
function showChoices() {
  const { record, fits } = shownRequest();
  const limit = record?.budget?.limit ?? null;
  const budgets = [...fits.map((/** @type {Json} */ fit) => fit.budget), limit ?? 0, choices.budget ?? 0, (record?.tokens?.total ?? 0) + (record?.budget?.reserve ?? 0)];
  budgetSlider.max = String(Math.ceil(BEYOND * Math.max(1, ...budgets)));
  const budget = choices.budget ?? limit;
  budgetSlider.value = budget === null ? budgetSlider.max : String(budget);
  budgetSlider.setAttribute("aria-valuetext", budget === null ? "no budget" : counted(budget, "token"));
  if (document.activeElement !== budgetInput) budgetInput.value = budget === null ? "" : String(budget);
  if (document.activeElement !== modelInput) modelInput.value = choices.model ?? "";
  zones.targets.replaceChildren(...choices.targets.map((/** @type {string} */ targetName) => element("button", {
    type: "button", "aria-label": `remove the payload for ${targetName}`, click: () => choose({ targets: choices.targets.filter((/** @type {string} */ chosenName) => chosenName !== targetName) }),
  }, ...shownText(targetName), " ×")));
  showParts(fits, budget);
}

/** Show, for each part that a budget drops, with which budgets it is sent. @param {Json[]} fits @param {number|null} budget */
function showParts(fits, budget) {
  const largest = Number(budgetSlider.max);
  /** @type {Map<string, Json>} */
  const parts = new Map();
  fits.forEach(fit => (Array.isArray(fit.dropped) ? fit.dropped : []).forEach((/** @type {Json} */ part) => parts.set(`${part.what}\n${part.path}`, part)));
  const rows = [...parts.values()].slice(0, PARTS).map(part => {
    const intervals = intervalsOf(fits, part);
    const bars = intervals.map(({ first, last }) => element("i", { vars: { "--from": share(first, largest), "--to": share(last, largest) } }));
    const title = [part.what, part.path === part.what ? "" : part.path].filter(Boolean).join(" ");
    const button = intervals.length === 0 ? element("span", { class: "quiet" }, "with no budget that was tried")
      : element("button", { type: "button", title: "set the budget to the first of these", click: () => choose({ budget: intervals[0].first }) }, intervalText(intervals), element("span", { class: "away" }, ...shownText(`: ${title}`)));
    return element("div", { class: "interval" }, element("span", { class: "part" }, ...shownText(title)), element("span", { class: "bars", "aria-hidden": "true" }, bars, budget === null ? null : element("b", { vars: { "--from": share(budget, largest) } })), button);
  });
  const restLine = parts.size > PARTS ? element("p", { class: "quiet" }, `and ${parts.size - PARTS} more: see the tab Budgets`) : null;
  zones.parts.replaceChildren(...(rows.length > 0 ? [element("p", { class: "quiet" }, `Parts that a smaller budget leaves out, and with which of the ${fits.length} budgets that were tried they are sent:`), ...rows] : []), ...(restLine ? [restLine] : []));
}

/** @param {number} count @param {number} largest */
function share(count, largest) { return `${Math.min(100 * count / largest, 100).toFixed(2)}%`; }

/** Show a text, or what the server does now. @param {string=} text */
function showState(text) {
  const { work, seconds, isCold } = current;
  if (text !== undefined) {
    zones.state.textContent = text;
  } else if (work) {
    const waited = Math.floor((performance.now() - workStart) / 1000);
    zones.state.textContent = `${work.name}${waited > 0 ? `, ${waited} s` : ""}`;
  } else {
    const took = current.error || seconds === null || seconds === undefined ? "" : `Rendered in ${Math.round(1000 * seconds)} ms. `;
    zones.state.textContent = `${took}The page follows each save.${isCold ? " Each save starts a new process, which imports everything: this takes seconds." : ""}`;
  }
}

/** Show a state of the server. @param {Json} next */
function show(next) {
  const isOther = next.page !== undefined || next.hasPage !== current.hasPage || (!next.hasPage && next.prompt !== current.prompt);
  current = next;
  workStart = performance.now() - 1000 * (next.work ? next.work.seconds : 0);
  if (!isSending && !hasUnsentChoice) choices = { ...next.choices };
  const names = next.names.map((/** @type {string} */ value) => element("option", { value }));
  zones.names.replaceChildren(...names);
  nameLabel.hidden = names.length < MANY;
  zones.models.replaceChildren(...next.providers.map((/** @type {string} */ value) => element("option", { value })));
  showState();
  const { error, output } = next;
  zones.error.replaceChildren(...(error ? [errorBox(error)] : []));
  if (error && next.hasPage) zones.error.firstElementChild?.append(element("p", {}, "Below is the last page without an error."));
  zones.output.hidden = output === "";
  zones.printed.replaceChildren(...shownText(output));
  if (isOther) showPage(next);
  else showChoices();
}

/** Show the page of a state, or an empty one. @param {Json} next */
function showPage(next) {
  const empty = { content: true, price: null, values: [], prompts: next.names.map((/** @type {string} */ name) => ({ name, inputs: null, requests: [] })) };
  const index = Math.max(next.names.indexOf(next.prompt), 0);
  showData(next.hasPage ? next.page : empty, index, showChoices);
}

/** Read states until the server refuses the token, but only while the tab is visible: a browser has six connections for all tabs. */
async function follow() {
  for (;;) {
    await untilSeen();
    stream = new AbortController();
    try {
      const response = await fetch("/states", { headers: headers(), cache: "no-store", signal: stream.signal });
      if (response.status === 403) {
        showState("This tab does not have the token of the preview: open the address that promptdsl preview printed.");
        return;
      }
      await readStates(/** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body));
    } catch { /* the server has ended or not yet started, or the tab is hidden */ }
    if (stream.signal.aborted) continue;
    current = { ...current, work: "" };
    showState("The preview has ended. Start it again, and open the address that it prints.");
    await new Promise(done => setTimeout(done, 1000));
  }
}

/** Wait until the tab is visible. */
async function untilSeen() {
  while (document.hidden) await new Promise(done => document.addEventListener("visibilitychange", done, { once: true }));
}

/** Show each state of a stream; of states that come together, show the newest. @param {ReadableStream<Uint8Array<ArrayBuffer>>} stream */
async function readStates(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (!part.value.includes("\n")) {
      rest += part.value;
      continue;
    }
    const lines = (rest + part.value).split("\n");
    rest = /** @type {string} */ (lines.pop());
    const states = lines.filter(Boolean).map(line => JSON.parse(line));
    const page = states.findLast(state => state.page !== undefined)?.page;
    if (states.length > 0) show({ ...states.at(-1), page });
  }
}

/** Store the token in the address for this tab; return whether the address has one. */
function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return false;
  try { sessionStorage.setItem(TOKEN, token); } catch { /* then each reload needs the address */ }
  writeAddress();
  return true;
}

takeToken();
zones.output.append(element("summary", {}, "Output of the code"), zones.printed);
document.getElementById("head")?.append(element("div", { id: "live" }, zones.state,
  element("div", { class: "controls" }, element("label", {}, "Budget ", budgetInput), budgetSlider, reset,
    element("label", {}, "Model ", modelInput), element("label", {}, "Payload for ", targetInput), zones.targets, nameLabel, zones.names, zones.models),
  zones.parts, zones.output));
document.getElementById("head")?.after(zones.error);
document.getElementById("prompt")?.addEventListener("change", event => {
  choose({ prompt: current.names[Number(/** @type {HTMLSelectElement} */ (event.target).value)] ?? null });
});
addEventListener("hashchange", () => { if (takeToken()) location.reload(); });
document.addEventListener("visibilitychange", () => { if (document.hidden) stream.abort(); });
setInterval(() => { if (current.work) showState(); }, 1000);
showState("Connecting to the preview.");
void follow();
