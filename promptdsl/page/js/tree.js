// The parts of a prompt with their tokens as bars. Dropped parts are in their place, crossed out.

import { counted, element, longList, shownText } from "./dom.js";
import { addressOf, fitsSentence } from "./numbers.js";

/** @typedef {import("./values.js").Json} Json */
/** @typedef {{part: Json, children: TreeNode[], depth: number, rest: TreeNode[], name: string, path: string}} TreeNode the path is "" if the enclosing part has the same path */

const SIBLINGS = 60;
const LONG = 200;

/**
 * Return the parts of a record as a tree: a deeper part is a child of the part before it. If there are
 * more than 60 siblings, the further ones are the `rest` of one node.
 * @param {Json[]} parts
 * @returns {TreeNode[]}
 */
function nested(parts) {
  const root = node({ depth: -1 }, "", "");
  const above = [root];
  /** How many parts have a name so far. @type {Map<string, number>} */
  const counts = new Map();
  for (const part of parts) {
    above.length = Math.min(above.length, part.depth + 1);
    const parent = /** @type {TreeNode} */ (above.at(-1));
    const path = `${parent.name}/${part.what}`;
    const count = counts.get(path) ?? 0;
    counts.set(path, count + 1);
    const child = node(part, `${path} ${count}`, part.path === parent.part.path ? "" : part.path ?? "");
    parent.children.push(child);
    above.push(child);
  }
  const unvisited = [root];
  for (let parent = unvisited.pop(); parent !== undefined; parent = unvisited.pop()) {
    unvisited.push(...parent.children);
    const rest = parent.children.slice(SIBLINGS);
    if (rest.length > 0) parent.children.splice(SIBLINGS, rest.length, restNode(rest));
  }
  return root.children;
}

/** Return a sentence on how the tokens of the parts add up to those of the request. @param {Json} counts @param {TreeNode[]} roots */
function sumLine(counts, roots) {
  const sum = roots.reduce((all, { part }) => all + (part.dropped === undefined ? part.tokens : 0), 0);
  const frameTokens = counts.total - sum;
  if (frameTokens === 0) return `${counted(counts.total, "token")}.`;
  return `${counted(counts.total, "token")}: the parts have ${sum.toLocaleString("en")}, the format of the request ${frameTokens > 0 ? "adds" : "saves"} ${Math.abs(frameTokens).toLocaleString("en")}. The tokens of a part include the text around its content.`;
}

/** @param {Json} part @param {string} name stays the same when the prompt changes @param {string} path @returns {TreeNode} */
function node(part, name, path) { return { part, children: [], depth: part.depth, rest: [], name, path }; }

/** @param {TreeNode[]} rest @returns {TreeNode} */
function restNode(rest) {
  const sentNodes = rest.filter(({ part }) => part.dropped === undefined);
  const sum = sentNodes.reduce((all, { part }) => all + part.tokens, 0);
  const what = `… ${rest.length.toLocaleString("en")} more`;
  return { part: { what, tokens: sum }, children: [], depth: rest[0].depth, rest, name: "", path: "" };
}

/**
 * Show the tree of a request. `go` shows a message and marks the part with a path, `link` makes the link
 * to a source line. `folds` stores which parts the reader closed.
 * @param {HTMLElement} parent
 * @param {Json} request
 * @param {{go: (message: number, path: string) => void, link: (source: string) => Node|null, folds: Map<string, boolean>}} actions
 */
export function showTree(parent, request, { go, link, folds }) {
  const record = request.record;
  if (!record?.tokens) {
    parent.replaceChildren(element("p", { class: "quiet" }, "The tokens of this request are not known."));
    return;
  }
  const roots = nested(record.tokens.parts);
  const total = Math.max(record.tokens.total, 1);
  const isLong = record.tokens.parts.length > LONG;
  const isClosed = (/** @type {TreeNode} */ row) => folds.get(row.name) ?? (isLong && row.depth === 0);
  const rows = element("div", {});
  parent.replaceChildren(element("p", { class: "quiet" }, sumLine(record.tokens, roots)), rows);
  /** @type {ReturnType<typeof longList>|null} */
  let list = null;

  function draw() {
    const visible = visibleNodes();
    list?.close();
    list = longList(rows, visible.length, index => rowOf(visible[index]), 28);
  }

  function visibleNodes() {
    const unvisited = roots.slice().reverse();
    /** @type {TreeNode[]} */
    const visible = [];
    for (let next = unvisited.pop(); next !== undefined; next = unvisited.pop()) {
      visible.push(next);
      if (!isClosed(next)) unvisited.push(...next.children.slice().reverse());
    }
    return visible;
  }

  /** @param {TreeNode} row */
  function rowOf(row) {
    const { part } = row;
    const isDropped = part.dropped !== undefined;
    return element("div", {
      class: isDropped ? "row dropped" : "row",
      vars: { "--depth": Math.min(row.depth, 12), "--share": Math.min(part.tokens / total, 1).toFixed(4) },
    },
      foldButton(row),
      element("button", { type: "button", class: "part", title: titleOf(part), click: () => choose(row) },
        element(isDropped ? "s" : "span", {}, ...shownText(part.what)),
        row.path ? element("small", {}, " ", ...shownText(addressOf(part))) : null),
      isDropped ? element("span", { class: "reason" }, "left out") : null,
      link(part.source ?? ""),
      element("span", { class: "count" }, part.tokens.toLocaleString("en")),
      element("span", { class: "bar", "aria-hidden": "true" }));
  }

  /** @param {Json} part */
  function titleOf(part) {
    if (part.dropped === undefined) return null;
    return [part.dropped, fitsSentence(request.fits, part)].filter(Boolean).join(". ");
  }

  /** @param {TreeNode} row */
  function foldButton(row) {
    if (row.children.length === 0) return element("span", { class: "fold" });
    return element("button", {
      type: "button", class: "fold", "aria-expanded": String(!isClosed(row)), "aria-label": `parts of ${row.part.what}`,
      click: () => {
        folds.set(row.name, !isClosed(row));
        draw();
      },
    }, isClosed(row) ? "▸" : "▾");
  }

  /** @param {TreeNode} row */
  function choose(row) {
    if (row.rest.length > 0) {
      replaceRest(row);
      draw();
    } else if (row.part.dropped !== undefined) {
      const dropped = record.dropped.find((/** @type {Json} */ other) => other.what === row.part.what && other.path === row.part.path);
      go(dropped?.at ?? record.messages.length, "");
    } else if (row.part.message) {
      go(row.part.message[0], row.path);
    }
  }

  /** Replace the node of the further siblings by these siblings. @param {TreeNode} row */
  function replaceRest(row) {
    const siblingLists = [roots];
    for (let siblings = siblingLists.pop(); siblings !== undefined; siblings = siblingLists.pop()) {
      const index = siblings.indexOf(row);
      if (index >= 0) siblings.splice(index, 1, ...row.rest);
      else siblingLists.push(...siblings.map(({ children }) => children));
    }
  }

  draw();
}
