// Elements of the page. Text of prompts is set as text, never as markup.

/** @typedef {Node|string|number|null|false|undefined} Child */

/**
 * Return an element with attributes and children. A function is a listener; `vars` are CSS variables.
 * @param {string} tag
 * @param {Record<string, any>=} attributes
 * @param {...(Child|Child[])} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else if (name === "vars") Object.entries(value).forEach(([key, part]) => made.style.setProperty(key, String(part)));
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter(isShown).map(nodeOf));
  return made;
}

/** @param {Child} child @returns {child is Node|string|number} */
function isShown(child) { return child !== null && child !== undefined && child !== false && child !== ""; }

/** @param {Node|string|number} child */
function nodeOf(child) { return child instanceof Node ? child : String(child); }

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u061c\u115f\u1160\u1680\u17b4\u17b5\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\uddef]/g;

/**
 * Return a text as nodes: invisible and bidirectional characters are signs such as ⟦U+202E⟧.
 * @param {string} text
 * @returns {[string|DocumentFragment]}
 */
export function shownText(text) {
  if (text.search(UNSEEN) < 0) return [text];
  const nodes = document.createDocumentFragment();
  let end = 0;
  for (const match of text.matchAll(UNSEEN)) {
    const code = /** @type {number} */ (match[0].codePointAt(0)).toString(16).toUpperCase().padStart(4, "0");
    nodes.append(text.slice(end, match.index), element("span", { class: "sign" }, `⟦U+${code}⟧`));
    end = match.index + match[0].length;
  }
  nodes.append(text.slice(end));
  return [nodes];
}

/** @param {number} count @param {string} noun */
export function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * A long list: groups of items are made when they come near the screen, and emptied when they leave.
 * @param {HTMLElement} parent
 * @param {number} size the number of items
 * @param {(index: number) => HTMLElement} make
 * @param {number} height the height of an item that was not made yet, in pixels
 * @param {number} groupSize the number of items that are made together
 */
export function longList(parent, size, make, height, groupSize = 40) {
  /** @type {HTMLElement[]} */
  const groups = [];
  const watcher = new IntersectionObserver(seen => {
    for (const { target, isIntersecting } of seen) {
      const group = /** @type {HTMLElement} */ (target);
      if (isIntersecting) fill(group);
      else if (group.firstChild && !group.contains(document.activeElement)) {
        group.style.minHeight = `${group.offsetHeight}px`;
        group.replaceChildren();
      }
    }
  }, { rootMargin: "1200px" });

  /** @param {HTMLElement} group */
  function fill(group) {
    if (group.firstChild) return;
    const start = groups.indexOf(group) * groupSize;
    for (let index = start; index < Math.min(start + groupSize, size); index++) group.append(make(index));
    group.style.minHeight = "";
    parent.dispatchEvent(new CustomEvent("filled"));
  }

  for (let start = 0; start < size; start += groupSize) {
    const group = element("div", { class: "group" });
    group.style.minHeight = `${Math.min(groupSize, size - start) * height}px`;
    groups.push(group);
  }
  parent.replaceChildren(...groups);
  if (groups.length > 0) fill(groups[0]);
  groups.forEach(group => watcher.observe(group));
  return {
    /** Return the element of an item, which is made if it is not there. @param {number} index */
    at(index) {
      const group = groups[Math.floor(index / groupSize)];
      if (group === undefined) return null;
      fill(group);
      return /** @type {HTMLElement|null} */ (group.children[index % groupSize] ?? null);
    },
    close() { watcher.disconnect(); },
  };
}

/**
 * Copy a text, and say so on the button for two seconds.
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
