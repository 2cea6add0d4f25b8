"use strict"
// The filters and keys of the page. The hash of the address has the state of the filters.
const filters = document.getElementById("filters")
const choices = ["q", "section", "model", "kind"].map(id => document.getElementById(id))
const changes = [...document.querySelectorAll(".change")]
const prompts = [...document.querySelectorAll(".prompt")]
const help = document.getElementById("help")
const texts = new Map()
let current = null
let timer = 0

function textOf(part) {
  if (!texts.has(part)) texts.set(part, part.textContent.toLowerCase())
  return texts.get(part)
}

function isVisible(part, chosen, prompt) {
  const models = prompt ? [prompt] : [...part.querySelectorAll("li[data-model]")]
  const title = prompt ? textOf(prompt.querySelector("summary")) : ""
  return (!chosen.section || part.dataset.section === chosen.section)
    && (!chosen.kind || part.dataset.kind === chosen.kind)
    && (!chosen.model || models.some(item => item.dataset.model === chosen.model))
    && (!chosen.q || (title + textOf(part)).includes(chosen.q.toLowerCase()))
}

function filter() {
  const chosen = Object.fromEntries(choices.map(choice => [choice.id, choice.value]))
  const isFiltered = choices.some(choice => choice.value)
  for (const change of changes) change.hidden = !isVisible(change, chosen, change.closest(".prompt"))
  for (const name of document.querySelectorAll(".where li"))
    name.hidden = chosen.model && name.dataset.model !== chosen.model
  for (const prompt of prompts) {
    const links = [...prompt.querySelectorAll(".shared")]
    for (const link of links) link.hidden = !isVisible(link, chosen, prompt)
    const parts = [...links, ...prompt.querySelectorAll(".change")]
    const hasVisible = parts.length ? parts.some(part => !part.hidden) : isVisible(prompt, chosen, prompt)
    prompt.hidden = isFiltered && !hasVisible
  }
  for (const part of document.querySelectorAll("main > section"))
    part.hidden = isFiltered && !part.querySelector(":scope > details:not([hidden])")
  const count = changes.filter(change => !change.hidden).length
  document.getElementById("count").textContent =
    (isFiltered ? `${count} of ` : "") + `${changes.length} change${changes.length === 1 ? "" : "s"}`
}

function writeSoon() {
  // Many changes may fold together, so the address is written once for all.
  clearTimeout(timer)
  timer = setTimeout(writeHash, 100)
}

function writeHash() {
  const state = new URLSearchParams()
  for (const choice of choices) if (choice.value) state.set(choice.id, choice.value)
  if (current) state.set("at", current.id)
  const folded = changes.filter(change => !change.open).map(change => change.id)
  if (folded.length) state.set("folded", folded.join(" "))
  const hash = String(state) && `#${state}`
  if (hash !== location.hash) history.replaceState(null, "", location.href.split("#")[0] + hash)
}

function restore() {
  const hash = location.hash.slice(1)
  const state = new URLSearchParams(hash.includes("=") ? hash : { at: hash })
  if (hash && !hash.includes("=")) for (const choice of choices) state.set(choice.id, choice.value)
  for (const choice of choices) choice.value = state.get(choice.id) || ""
  const folded = new Set((state.get("folded") || "").split(" "))
  if (hash.includes("=")) for (const change of changes) change.open = !folded.has(change.id)
  filter()
  const target = [...changes, ...prompts].find(part => part.id === state.get("at"))
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
  writeSoon()
}

function step(by) {
  const visible = changes.filter(change => !change.hidden)
  if (!visible.length) return
  const after = visible.findIndex(change => current
    && (change === current || current.compareDocumentPosition(change) & Node.DOCUMENT_POSITION_FOLLOWING))
  const isAt = after >= 0 && visible[after] === current
  const from = after < 0 ? visible.length : after
  const next = by > 0 ? (isAt ? from + 1 : current ? from : 0) : from - 1
  go(visible[Math.min(Math.max(next, 0), visible.length - 1)])
}

// A change of several prompts is in the page only once. It is copied to a prompt when the reader opens it there.
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
    const open = !changes.some(change => change.open)
    for (const change of changes) change.open = open
  },
  clear: () => { for (const choice of choices) choice.value = ""; filter(); writeSoon() },
  help: () => help.showModal(),
  close: () => help.close(),
}
const keys = {
  j: "next", k: "previous", "/": "search", f: "fold", F: "foldAll", c: "clear", "?": "help",
}

if (filters) {
  filters.hidden = false
  restore()
  for (const choice of choices) choice.addEventListener("input", () => { filter(); writeSoon() })
  for (const change of changes) change.addEventListener("toggle", writeSoon)
  for (const link of document.querySelectorAll(".shared"))
    link.addEventListener("toggle", () => copyChange(link))
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
