// Makes the elements of the page. Text of prompts is always set as text, never as markup.

/** @typedef {Node|string|number|null|false|undefined} Child */

/**
 * Return an element with attributes and children. A function is a listener; `vars` are CSS variables.
 * @param {string} tag
 * @param {Record<string, any>=} attributes
 * @param {...(Child|Child[])} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else if (name === "vars") Object.entries(value).forEach(([key, part]) => node.style.setProperty(key, String(part)));
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter(hasContent).map(nodeOf));
  return node;
}

/** @param {Child} child @returns {child is Node|string|number} */
function hasContent(child) { return child !== null && child !== undefined && child !== false && child !== ""; }

/** @param {Node|string|number} child */
function nodeOf(child) { return child instanceof Node ? child : String(child); }

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u061c\u115f\u1160\u1680\u17b4\u17b5\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\uddef]/g;

/** The maximum number of coloured brackets in a text: a browser is slow with many elements on a line. */
const SIGNS = 500;

/**
 * Return a text as nodes; invisible and bidirectional characters become brackets such as ⟦U+202E⟧.
 * @param {string} text
 * @returns {[string|DocumentFragment]}
 */
export function shownText(text) {
  if (text.search(UNSEEN) < 0) return [text];
  const nodes = document.createDocumentFragment();
  let end = 0;
  for (const match of text.matchAll(UNSEEN)) {
    if (nodes.childElementCount === SIGNS) break;
    nodes.append(text.slice(end, match.index), element("span", { class: "sign" }, signOf(match[0])));
    end = match.index + match[0].length;
  }
  nodes.append(text.slice(end).replace(UNSEEN, signOf));
  return [nodes];
}

/** Return a text in which `write` replaces each invisible character. @param {string} text @param {(character: string) => string} write */
export function replaceUnseen(text, write) { return text.replace(UNSEEN, write); }

/** @param {string} character */
function signOf(character) {
  const code = /** @type {number} */ (character.codePointAt(0)).toString(16).toUpperCase().padStart(4, "0");
  return `⟦U+${code}⟧`;
}

/** @param {number} count @param {string} noun */
export function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

const STEP = 8;

/**
 * Run steps: all at once if they take few milliseconds, else with pauses in which the browser draws.
 * Returns a function that stops them.
 * @param {Iterator<void>} steps
 */
export function inSteps(steps) {
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  function go() {
    const end = performance.now() + STEP;
    while (performance.now() < end) {
      if (steps.next().done) return;
    }
    timer = setTimeout(go);
  }
  go();
  return () => clearTimeout(timer);
}

const GROUP = 10;
const NEAR = "300px";

/**
 * Show a long list. A group of ten items is filled when it comes near the screen, and emptied when it
 * leaves. Groups of ten groups are treated in the same way, and so on.
 * @param {HTMLElement} parent
 * @param {number} size the number of items
 * @param {(index: number) => HTMLElement} make
 * @param {number} height the height of an item that is not made yet, in pixels
 */
export function longList(parent, size, make, height) {
  /** For the element of each group, its first item, and the number of items in each child. @type {Map<Element, {first: number, step: number}>} */
  const groups = new Map();
  const watcher = new IntersectionObserver(entries => {
    for (const { target, isIntersecting } of entries) {
      if (!groups.has(target)) continue;
      if (isIntersecting) fill(/** @type {HTMLElement} */ (target));
      else if (!target.contains(document.activeElement)) empty(/** @type {HTMLElement} */ (target));
    }
  }, /** @type {IntersectionObserverInit} */ ({ rootMargin: NEAR, scrollMargin: NEAR }));

  /** @param {number} first @param {number} step */
  function groupOf(first, step) {
    const group = element("div", { class: "group" });
    group.style.minHeight = `${Math.min(step * GROUP, size - first) * height}px`;
    groups.set(group, { first, step });
    watcher.observe(group);
    return group;
  }

  /** @param {HTMLElement} group */
  function fill(group) {
    const info = groups.get(group);
    if (info === undefined || group.firstChild) return;
    const { first, step } = info;
    for (let start = first; start < Math.min(first + step * GROUP, size); start += step) {
      group.append(step === 1 ? make(start) : groupOf(start, step / GROUP));
    }
    group.style.minHeight = "";
    if (step === 1) parent.dispatchEvent(new CustomEvent("filled"));
  }

  /** @param {HTMLElement} group */
  function empty(group) {
    if (!group.firstChild) return;
    group.style.minHeight = `${group.offsetHeight}px`;
    for (const inner of group.querySelectorAll(".group")) {
      watcher.unobserve(inner);
      groups.delete(inner);
    }
    group.replaceChildren();
  }

  let step = 1;
  while (step * GROUP < size) step *= GROUP;
  const top = groupOf(0, step);
  parent.replaceChildren(top);
  fill(top);
  return {
    /** Return the element of an item; make it if it does not exist. @param {number} index */
    at(index) {
      if (index < 0 || index >= size) return null;
      let group = top;
      for (let inner = step; ; inner /= GROUP) {
        fill(group);
        const child = /** @type {HTMLElement} */ (group.children[Math.floor(index % (inner * GROUP) / inner)]);
        if (inner === 1) return child;
        group = child;
      }
    },
    /** Make all existing items again. */
    redraw() {
      for (const [group, { first, step }] of groups) {
        if (step === 1 && group.firstChild) group.replaceChildren(...Array.from(group.children, (_, offset) => make(first + offset)));
      }
    },
    close() { watcher.disconnect(); },
  };
}

/**
 * Copy a text, and show on the button for two seconds whether it worked.
 * @param {HTMLElement} button
 * @param {string} text
 */
export async function copy(button, text) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = copiedBySelection(text) ? "Copied" : "Cannot copy";
  }
  setTimeout(() => { button.textContent = label; }, 2000);
}

/** @param {string} text */
function copiedBySelection(text) {
  const area = /** @type {HTMLTextAreaElement} */ (element("textarea", { class: "away" }));
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  return isCopied;
}

/**
 * Add a value to the list that a map has for a key.
 * @template K, V
 * @param {Map<K, V[]>} map @param {K} key @param {V} value
 */
export function pushTo(map, key, value) {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
