"use strict"
// The filters and keys of the page. What they are set to is in the hash of the address.
const filters = document.getElementById("filters")
const choices = ["q", "section", "model", "kind"].map(id => document.getElementById(id))
const changes = [...document.querySelectorAll(".change")]
const prompts = [...document.querySelectorAll(".prompt")]
const help = document.getElementById("help")
const texts = new Map()
let current = null
let keeping = 0

function textOf(part) {
  if (!texts.has(part)) texts.set(part, part.textContent.toLowerCase())
  return texts.get(part)
}

function isShown(part, wanted, prompt) {
  const models = prompt ? [prompt] : [...part.querySelectorAll("li[data-model]")]
  const title = prompt ? textOf(prompt.querySelector("summary")) : ""
  return (!wanted.section || part.dataset.section === wanted.section)
    && (!wanted.kind || part.dataset.kind === wanted.kind)
    && (!wanted.model || models.some(it => it.dataset.model === wanted.model))
    && (!wanted.q || (title + textOf(part)).includes(wanted.q.toLowerCase()))
}

function filter() {
  const wanted = Object.fromEntries(choices.map(it => [it.id, it.value]))
  const isFiltered = choices.some(it => it.value)
  for (const change of changes) change.hidden = !isShown(change, wanted, change.closest(".prompt"))
  for (const name of document.querySelectorAll(".where li"))
    name.hidden = wanted.model && name.dataset.model !== wanted.model
  for (const prompt of prompts) {
    const links = [...prompt.querySelectorAll(".shared")]
    for (const link of links) link.hidden = !isShown(link, wanted, prompt)
    const parts = [...links, ...prompt.querySelectorAll(".change")]
    const hasShown = parts.length ? parts.some(it => !it.hidden) : isShown(prompt, wanted, prompt)
    prompt.hidden = isFiltered && !hasShown
  }
  for (const part of document.querySelectorAll("main > section"))
    part.hidden = isFiltered && !part.querySelector(":scope > details:not([hidden])")
  const count = changes.filter(it => !it.hidden).length
  document.getElementById("count").textContent =
    (isFiltered ? `${count} of ` : "") + `${changes.length} change${changes.length === 1 ? "" : "s"}`
}

function keep() {
  // Many parts may fold at once.
  clearTimeout(keeping)
  keeping = setTimeout(writeHash, 100)
}

function writeHash() {
  const state = new URLSearchParams()
  for (const it of choices) if (it.value) state.set(it.id, it.value)
  if (current) state.set("at", current.id)
  const folded = changes.filter(it => !it.open).map(it => it.id)
  if (folded.length) state.set("folded", folded.join(" "))
  const hash = String(state) && `#${state}`
  if (hash !== location.hash) history.replaceState(null, "", location.href.split("#")[0] + hash)
}

function restore() {
  const hash = location.hash.slice(1)
  const state = new URLSearchParams(hash.includes("=") ? hash : { at: hash })
  if (hash && !hash.includes("=")) for (const it of choices) state.set(it.id, it.value)
  for (const it of choices) it.value = state.get(it.id) || ""
  const folded = new Set((state.get("folded") || "").split(" "))
  if (hash.includes("=")) for (const it of changes) it.open = !folded.has(it.id)
  filter()
  const target = [...changes, ...prompts].find(it => it.id === state.get("at"))
  if (target) go(target)
}

function go(part) {
  current?.classList.remove("current")
  current = part
  part.classList.add("current")
  const prompt = part.closest(".prompt")
  if (prompt) prompt.open = true
  part.querySelector("summary").focus({ preventScroll: true })
  part.scrollIntoView({ block: "start" })
  keep()
}

function step(by) {
  const shown = changes.filter(it => !it.hidden)
  if (!shown.length) return
  const after = shown.findIndex(it => current
    && (it === current || current.compareDocumentPosition(it) & Node.DOCUMENT_POSITION_FOLLOWING))
  const isAt = after >= 0 && shown[after] === current
  const from = after < 0 ? shown.length : after
  const next = by > 0 ? (isAt ? from + 1 : current ? from : 0) : from - 1
  go(shown[Math.min(Math.max(next, 0), shown.length - 1)])
}

// A change of several prompts is in the page once, and copied where it is wanted.
function copyChange(shared) {
  const table = document.querySelector(`#${shared.dataset.group} > table`)
  if (table && shared.open && !shared.querySelector("table"))
    shared.querySelector("summary").after(table.cloneNode(true))
}

const actions = {
  next: () => step(1),
  previous: () => step(-1),
  search: () => choices[0].select(),
  fold: () => { if (current) current.open = !current.open },
  foldAll: () => {
    const open = !changes.some(it => it.open)
    for (const it of changes) it.open = open
  },
  clear: () => { for (const it of choices) it.value = ""; filter(); keep() },
  help: () => help.showModal(),
  close: () => help.close(),
}
const keys = {
  j: "next", k: "previous", "/": "search", f: "fold", F: "foldAll", c: "clear", "?": "help",
}

if (filters) {
  filters.hidden = false
  restore()
  for (const it of choices) it.addEventListener("input", () => { filter(); keep() })
  for (const it of changes) it.addEventListener("toggle", keep)
  for (const it of document.querySelectorAll(".shared"))
    it.addEventListener("toggle", () => copyChange(it))
  addEventListener("hashchange", restore)
  addEventListener("click", event => {
    const action = event.target.closest("[data-does]")?.dataset.does
    if (action) actions[action]()
  })
  addEventListener("keydown", event => {
    const isTyping = event.target.matches("input, select")
    if (event.key === "Escape" && isTyping) event.target.blur()
    if (isTyping || help.open || event.ctrlKey || event.metaKey || event.altKey) return
    if (!Object.hasOwn(keys, event.key)) return
    event.preventDefault()
    actions[keys[event.key]]()
  })
}
