// The messages as they are sent: roles, pieces with their origin, the cache, and what was left out.

import { copy, counted, element, longList, pushTo, shownText } from "./dom.js";
import { addressOf, cacheFigures, fitsSentence, rolesOf, tokens } from "./numbers.js";
import { isInPart, isSamePoint, state } from "./state.js";
import { jsonText, slicer, without } from "./values.js";

/** @typedef {import("./values.js").Json} Json */
/** @typedef {import("./state.js").Point} Point */
/** @typedef {{kind: "message"|"dropped"|"tools"|"cache", index: number}} Item */

/** The text for each kind of message that has another name on the page. @type {Record<string, string>} */
const KINDS = { request: "only in this request", ephemeral: "only in this request" };
const LARGEST_PICTURE = 256 * 1024;
/** The first bytes of a picture, by its media type. @type {[string, RegExp][]} */
const PICTURES = [
  ["image/png", /^\x89PNG\r\n/], ["image/jpeg", /^\xff\xd8\xff/], ["image/gif", /^GIF8/], ["image/webp", /^RIFF....WEBP/s],
];

/** Return the media type of a picture by its first bytes, "" for other data. @param {string} data base64 */
function pictureType(data) {
  const text = data.slice(0, 24);
  if (!/^[A-Za-z0-9+/]+$/.test(text)) return "";
  const bytes = atob(text.slice(0, text.length - text.length % 4));
  return PICTURES.find(([, begin]) => begin.test(bytes))?.[0] ?? "";
}

/** Return what the middle of the page lists, in order. @param {Json} request @returns {Item[]} */
function itemsOf(request) {
  const { record } = request;
  /** @type {Item[]} */
  const items = record.tools.length > 0 || record.output ? [{ kind: "tools", index: 0 }] : [];
  const end = cacheEnd(request);
  /** @type {Map<number, number[]>} */
  const dropped = new Map();
  record.dropped.forEach((/** @type {Json} */ part, /** @type {number} */ index) => {
    pushTo(dropped, Math.min(part.at ?? record.messages.length, record.messages.length), index);
  });
  for (let index = 0; index <= record.messages.length; index++) {
    (dropped.get(index) ?? []).forEach(number => items.push({ kind: "dropped", index: number }));
    if (index === end) items.push({ kind: "cache", index });
    if (index < record.messages.length) items.push({ kind: "message", index });
  }
  return items;
}

/** Return the index of the first message that is not completely read from a cache, or -1. @param {Json} request */
function cacheEnd(request) {
  const { cached } = cacheFigures(request);
  if (cached === 0 || !request.record.tokens) return -1;
  let sum = request.record.tokens.tools;
  const counts = request.record.tokens.messages;
  for (let index = 0; index < counts.length; index++) {
    sum += counts[index];
    if (sum > cached) return index;
  }
  return counts.length;
}

/**
 * Show the messages of a request.
 * @param {HTMLElement} parent
 * @param {Json} request
 * @param {{point: (point: Point) => void, link: (source: string) => Node|null}} actions
 */
export function showMessages(parent, request, { point, link }) {
  const { record } = request;
  const items = itemsOf(request);
  /** The spans of each message. @type {Json[][]} */
  const spans = [];
  record.spans.forEach((/** @type {Json} */ span) => (spans[span.message] ??= []).push(span));
  /** For each piece, the function that marks it or removes its mark. @type {WeakMap<Element, () => void>} */
  const updates = new WeakMap();
  const list = longList(parent, items.length, index => itemOf(items[index]), 90);

  /** @param {Item} item */
  function itemOf(item) {
    if (item.kind === "message") return messageOf(item.index);
    if (item.kind === "dropped") return droppedOf(record.dropped[item.index]);
    if (item.kind === "cache") return cacheLine();
    return toolsOf();
  }

  /** @param {number} index */
  function messageOf(index) {
    const message = record.messages[index];
    const roles = rolesOf(record, index);
    const title = roles.sent || roles.written;
    const isOther = roles.sent !== "" && roles.sent !== roles.written;
    const kind = message.kind === roles.written ? "" : KINDS[/** @type {string} */ (message.kind)] ?? message.kind;
    const facts = [`message ${index}`, kind, message.id, isOther ? `written as ${roles.written}` : ""].filter(Boolean);
    const count = record.tokens ? `${counted(record.tokens.messages[index] ?? 0, "token")}` : "";
    const text = message.content.map((/** @type {Json} */ block) => block.text ?? "").filter(Boolean).join("\n\n");
    const button = element("button", { type: "button", click: () => copy(button, text) }, "Copy text");
    return element("article", { class: `card ${title}`, tabindex: "-1", "data-message": index, "aria-label": `message ${index}, ${title}` },
      element("header", {},
        element("h3", {}, element("span", { class: "role" }, title), element("small", {}, ...shownText(facts.map(fact => ` · ${fact}`).join("")))),
        roles.isSent ? null : element("span", { class: "badge" }, "not sent"),
        element("span", { class: "count" }, count),
        text ? button : null),
      message.content.map((/** @type {Json} */ block, /** @type {number} */ blockIndex) => blockOf(block, index, blockIndex)));
  }

  /** @param {Json} block @param {number} messageIndex @param {number} blockIndex @param {number=} inner @returns {HTMLElement} */
  function blockOf(block, messageIndex, blockIndex, inner) {
    const sentBlock = inner === undefined ? record.sent?.[messageIndex]?.[blockIndex] : record.sent?.[messageIndex]?.[blockIndex]?.inner?.[inner];
    const notes = [
      record.sent && !sentBlock ? element("span", { class: "badge" }, "not sent") : null,
      block.cache ? element("p", { class: "mark" }, `cache mark${block.cache === "default" ? "" : `, ${block.cache}`}`) : null,
    ];
    if (block.type === "text") {
      return element("div", { class: "text" }, notes[0], textOf(block.text ?? "", { message: messageIndex, block: blockIndex, inner }), notes[1]);
    }
    const { type, content, source } = block;
    const rest = without(block, ["type", "cache", "content", "source"]);
    const parts = Array.isArray(content) ? content.map((/** @type {Json} */ child, /** @type {number} */ index) => blockOf(child, messageIndex, blockIndex, index)) : [];
    const body = Object.keys(rest).length > 0 ? element("pre", {}, ...shownText(jsonText(rest, 1))) : null;
    return element("div", { class: "block", "data-block": [messageIndex, blockIndex, inner ?? ""].join(".") },
      element("b", {}, type), " ", notes[0], source ? mediaOf(source) : null, body, parts, notes[1]);
  }

  /** Return a text in its pieces; without spans, it is one piece. @param {string} text @param {{message: number, block: number, inner?: number}} at */
  function textOf(text, at) {
    if (!request.record.content) return element("p", { class: "quiet" }, "The text is not in this page.");
    const { size, cut } = slicer(text);
    const ownSpans = (spans[at.message] ?? []).filter(span => span.block === at.block && (span.inner ?? -1) === (at.inner ?? -1));
    const pieces = ownSpans.length > 0 ? ownSpans : [{ start: 0, end: size, kind: "" }];
    /** @type {HTMLElement[]} */
    const nodes = [];
    let end = 0;
    for (const span of pieces) {
      if (span.start > end) nodes.push(pieceOf(cut(end, span.start), { ...at, start: end, end: span.start }, { kind: "" }));
      nodes.push(pieceOf(cut(span.start, span.end), { ...at, start: span.start, end: span.end }, span));
      end = span.end;
    }
    if (end < size) nodes.push(pieceOf(cut(end), { ...at, start: end, end: size }, { kind: "" }));
    return element("p", {}, nodes);
  }

  /** @param {string} text @param {Point} at @param {Json} span */
  function pieceOf(text, at, span) {
    const isData = ["value", "volatile", "conversation"].includes(span.kind);
    const origin = [span.kind, span.label, span.address, span.source, span.library].filter(Boolean).join(" · ");
    const size = span.tokens === undefined ? "" : ` · ${counted(span.tokens, "token")}`;
    const piece = element("span", {
      class: `piece ${span.kind}`, tabindex: "-1", title: origin + size, "data-tokens": span.tokens ?? 0,
      click: () => { if (getSelection()?.isCollapsed !== false) point(at); },
      focus: () => point(at),
    }, isData ? element("bdi", {}, ...shownText(text)) : shownText(text));
    const update = () => piece.classList.toggle("pointed", isSamePoint(state.point, at) || isInPart(span));
    updates.set(piece, update);
    update();
    return piece;
  }

  /** @param {Json} source */
  function mediaOf(source) {
    const data = source.data ?? "";
    const type = pictureType(data);
    const bytes = Math.floor(data.length * 3 / 4);
    const facts = [source.media_type, data ? `${bytes.toLocaleString("en")} bytes` : "", source.url, source.path, source.file_id].filter(Boolean).join(" · ");
    if (type === "" || bytes > LARGEST_PICTURE) return element("p", {}, ...shownText(facts || source.type));
    return element("figure", {},
      element("img", { src: `data:${type};base64,${data}`, alt: `the picture that is sent, ${facts}` }),
      element("figcaption", {}, ...shownText(facts)));
  }

  /** @param {Json} part */
  function droppedOf(part) {
    const range = part.range ? `, among messages ${part.range[0]} to ${part.range[1]} of the history` : "";
    const fits = fitsSentence(request.fits, part);
    return element("article", { class: "card dropped", tabindex: "-1", "aria-label": `left out: ${part.what}` },
      element("header", {},
        element("h3", {}, element("s", {}, ...shownText(part.what)), addressOf(part) ? element("small", {}, " ", ...shownText(addressOf(part))) : null),
        element("span", { class: "badge" }, "left out"),
        link(part.source ?? ""),
        element("span", { class: "count" }, `${tokens(part.tokens)} tokens to keep it`)),
      element("p", {}, ...shownText(`${part.why ?? ""}${range}${part.note ? `; ${part.note}` : ""}.`), fits ? ` ${fits}` : ""),
      part.text ? element("details", {}, element("summary", {}, "Text of the part"), element("p", { class: "text" }, element("bdi", {}, ...shownText(part.text)))) : null);
  }

  function cacheLine() {
    const { cached } = cacheFigures(request);
    const { first } = request.prefix ?? {};
    const why = first ? [`: ${first.what} ${first.how}`] : [];
    return element("div", { class: "cacheline" }, element("p", {}, `${tokens(cached)} tokens come from the cache up to about here`, ...why), first?.source ? link(first.source) : null);
  }

  function toolsOf() {
    const tools = record.tools.map((/** @type {Json} */ tool) => element("details", {},
      element("summary", {}, ...shownText(tool.name ?? "tool")),
      tool.description ? element("p", { class: "text" }, ...shownText(tool.description)) : null,
      element("pre", {}, ...shownText(jsonText(tool.input_schema ?? tool.raw ?? {}, 1))), link(tool.source ?? "")));
    const output = record.output ? element("details", {}, element("summary", {}, "output schema"),
      element("pre", {}, ...shownText(jsonText(record.output.schema ?? {}, 1)))) : null;
    const count = record.tokens ? counted(record.tokens.tools, "token") : "";
    return element("article", { class: "card tools", tabindex: "-1", "aria-label": "tools" },
      element("header", {}, element("h3", {}, counted(record.tools.length, "tool")), element("span", { class: "count" }, count)), tools, output);
  }

  return {
    items,
    list,
    /** Mark the pieces that the reader points at, or that are in the chosen part. */
    mark() { parent.querySelectorAll(".piece").forEach(piece => updates.get(piece)?.()); },
    /** Return the card of a message; after the last message, the last card. @param {number} index */
    at(index) {
      const itemIndex = items.findIndex(item => item.kind === "message" && item.index === index);
      return list.at(itemIndex < 0 ? items.length - 1 : itemIndex);
    },
  };
}
