"""The page in Chromium: what it shows, its keys, and that no text of a prompt runs or loads."""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from promptdsl.page import PagePrompt, write_page
from tests.browser import Browser
from tests.page.opening import ACTIONS, NODES, settled
from tests.page.prompts import MODEL, agent, answer
from tests.views.hostile_prompt import hostile_prompt

pytestmark = pytest.mark.browser

LOOKS = [(width, scheme) for width in (400, 1400) for scheme in ("light", "dark")]
FOCUSED = "document.activeElement.getAttribute('aria-label')"


def text_of(page: Browser, selector: str) -> str:
    """Return the text of the first element that a selector finds."""
    settled(page)
    text: str = page.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")
    return text


def texts_of(page: Browser, selector: str) -> list[str]:
    """Return the texts of all elements that a selector finds."""
    settled(page)
    texts: list[str] = page.run(
        f"[...document.querySelectorAll({json.dumps(selector)})].map(node => node.innerText)"
    )
    return texts


def click(page: Browser, selector: str) -> None:
    """Click the first element that a selector finds."""
    settled(page)
    page.run(f"document.querySelector({json.dumps(selector)}).click()")


def tab(page: Browser, name: str) -> str:
    """Return the text of a tab, which is opened."""
    click(page, f"#tab-{name}")
    return text_of(page, "#tab")


@pytest.fixture(scope="module")
def two_prompts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a page with a prompt that drops a document, and with an agent."""
    file = tmp_path_factory.mktemp("page") / "page.html"
    prompts = [
        PagePrompt("answer", (answer(),), {"name": "Ada"}),
        PagePrompt("agent", [agent(calls) for calls in range(1, 5)]),
        PagePrompt("failed", (LookupError("no plan"),)),
    ]
    options: dict[str, Any] = {"model": MODEL, "budget": 230, "reserve": 30, "cache": "auto"}
    write_page(file, prompts[0], models=["gpt-5", "gemini"], price=(3, 0.3), **options)
    answers = file.read_text("utf-8")
    write_page(file, *prompts, model=MODEL, cache="auto", budget=9000, models=["gpt-5"])
    (file.parent / "answer.html").write_text(answers, "utf-8")
    return file.parent.as_uri()


@pytest.fixture
def page(browser: Browser, two_prompts: str) -> Browser:
    """Return a browser with the page of a prompt that drops a document."""
    browser.look()
    browser.open(f"{two_prompts}/answer.html")
    settled(browser)
    return browser


@pytest.fixture
def calls(browser: Browser, two_prompts: str) -> Browser:
    """Return a browser with the last call of the agent."""
    browser.look()
    browser.open(f"{two_prompts}/page.html#p=1&r=3")
    settled(browser)
    return browser


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_hostile_prompts_run_nothing(
    browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    """No text runs, loads or leaves the page, nor is the page wider; nobody complains."""
    browser.look(width, scheme)
    file = tmp_path / "page.html"
    prompts = [hostile_prompt("http://127.0.0.1:9"), User("Hi.")]
    write_page(file, PagePrompt("<b>p</b>", prompts), model=MODEL, models=["gpt-5", "gemini"])
    browser.open(file.as_uri())
    settled(browser)
    assert "<b>p</b>" == browser.run("document.title")
    for name in ("payload", "losses", "changes", "budgets", "settings", "inputs", "beside"):
        tab(browser, name)
    assert [file.as_uri()] == browser.loaded()
    assert [] == browser.complaints()
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert 0 == browser.run(wider)
    images = "[...document.images].filter(image => !image.src.startsWith('data:image/')).length"
    scripts = "[...document.scripts].filter(script => script.type !== 'application/json').length"
    assert [0, 1] == [browser.run(images), browser.run(scripts)]
    settled(browser)
    assert 0 == browser.run("document.querySelectorAll('svg, iframe, object, embed').length")


def test_a_prompt(page: Browser) -> None:
    """The budget, the parts, the roles and the part that was left out are seen at once."""
    assert f"{MODEL}: 129 of 230 tokens · 30 for the answer · 71 free" == text_of(page, "#budget b")
    assert "for 1,000" in text_of(page, "#budget")
    assert ["system", "user", "user", "user"] == texts_of(page, ".card .role")
    assert "written as developer" in text_of(page, "[data-message='1']")
    dropped = text_of(page, ".card.dropped")
    assert "terms/hours.md" in dropped
    assert "122 tokens to keep it" in dropped
    assert "It is sent with a budget of 2" in dropped
    cards = texts_of(page, "article h3")
    assert ["grounding"] == [card.split()[0] for card in cards[2:3]]
    assert ["grounding"] == texts_of(page, ".row.dropped s")
    assert "probably the next to come back, with about 51 tokens more" in dropped


def test_a_piece_is_marked_in_every_payload(page: Browser) -> None:
    """A piece of a message that is clicked is marked in each payload, with its role there."""
    page.run("[...document.querySelectorAll('.piece')].find(it => it.innerText == 'Ada').click()")
    assert ["Ada"] == texts_of(page, "#tab mark")
    rows = texts_of(page, ".where tbody tr")
    assert [MODEL, "gpt-5", "gemini"] == [row.split("\t")[0] for row in rows]
    assert ["user"] * 3 == [row.split("\t")[1] for row in rows]
    assert "contents[0].parts[1].text" in rows[2]
    for number in (2, 3):
        click(page, f".buttons button:nth-child({number})")
        assert ["Ada"] == texts_of(page, "#tab mark")
    page.press("Escape")
    assert [] == texts_of(page, "#tab mark")


def test_a_part_that_is_chosen_is_marked_in_the_messages(page: Browser) -> None:
    """A row of the tree names its part and marks its text, also after a reload."""
    parts = texts_of(page, ".row .part")
    assert 'grounding "terms/billing.md"' in parts
    page.run(f"document.querySelectorAll('.row .part')[{parts.index('section role')}].click()")
    assert ["You are a support agent."] == texts_of(page, ".piece.pointed")
    page.press("Escape")
    assert [] == texts_of(page, ".piece.pointed")
    row = parts.index('grounding "terms/billing.md"')
    page.run(f"document.querySelectorAll('.row .part')[{row}].click()")
    marked = "".join(texts_of(page, ".piece.pointed"))
    assert marked.split() == ["<context>", *["x"] * 50, "</context>"]
    page.run("new Promise(done => setTimeout(done, 100))")
    page.open(page.run("location.href"))
    assert marked == "".join(texts_of(page, ".piece.pointed"))


def test_the_marks_of_the_bar_have_numbers(page: Browser) -> None:
    """Each budget that was tried has its number, but for the one of the request."""
    numbers = page.run(
        "[...document.querySelectorAll('.fit')].map(mark => getComputedStyle(mark, '::after'))"
        ".filter(style => style.display !== 'none').map(style => style.content)"
    )
    tried = page.run("document.querySelectorAll('.fit').length")
    assert tried - 1 == len({*numbers})
    assert '"230"' not in numbers


def test_the_headline_has_what_comes_from_the_cache(calls: Browser) -> None:
    """It is there for a request that follows another one."""
    words = text_of(calls, "#budget b").rpartition(" · ")[2]
    assert words.endswith(" from the cache")
    assert f" tokens: {words}," in text_of(calls, "#calls")
    calls.open(calls.run("location.href").replace("&r=3", ""))
    assert "from the cache" not in text_of(calls, "#budget b")


def test_a_picture_is_known_by_its_bytes(browser: Browser, tmp_path: Path) -> None:
    """A picture is shown; a sound with the first bytes of a container of pictures is not."""
    picture = (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
        "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    png = b64decode(picture)
    sound = Audio.from_bytes(b"RIFF$\0\0\0WAVEfmt ", "audio/wav")
    write_page(file := tmp_path / "page.html", User("Look.", Image.from_bytes(png), sound))
    browser.look()
    browser.open(file.as_uri())
    settled(browser)
    assert 1 == browser.run("document.images.length")
    assert browser.run("document.images[0].naturalWidth") > 0
    assert "audio/wav · 18 bytes" in text_of(browser, ".card")


def test_keys(page: Browser) -> None:
    """The keys go from message to message, to what was left out, and from piece to piece."""
    steps: list[str] = []
    for key in ("j", "j", "k", "d", "j"):
        page.press(key)
        steps.append(page.run(FOCUSED))
    assert [
        "message 0, system", "message 1, user", "message 0, system", "left out: grounding",
        "message 2, user",
    ] == steps  # fmt: skip
    for _ in range(2):
        page.press("ArrowRight")
    assert "Ada" == page.run("document.activeElement.innerText")
    assert ["Ada"] == texts_of(page, "#tab mark")
    page.press("t")
    assert "Hints and losses" == text_of(page, "[aria-selected=true]")
    page.press("?")
    assert "next or previous message" in text_of(page, "#help")
    click(page, "#help button")
    assert not page.run("document.querySelector('#help').open")


def test_links_open_an_editor(page: Browser) -> None:
    """Four editors are offered; the one that is chosen, and the folder, are in the links."""
    page.press("?")
    addresses = page.run("[...document.querySelector('#editor-list').options].map(it => it.value)")
    assert 4 == len(addresses)
    for name, value in (("editor", addresses[2]), ("root", "/a&b/")):
        field = f"document.querySelector('[list={name}-list]')"
        page.run(f"{field}.value = {json.dumps(value)}")
        page.run(f"{field}.dispatchEvent(new Event('change'))")
    click(page, "#help button")
    link = page.run("document.querySelector('a.source').getAttribute('href')")
    assert link.startswith("idea://open?file=/a%26b/prompts.py&line=")
    page.run("localStorage.clear()")


def test_tabs(page: Browser) -> None:
    """Each tab shows what it is named for."""
    assert "Nothing is lost" in tab(page, "losses")
    assert "no previous request" in tab(page, "changes")
    assert "\n230" in tab(page, "budgets")
    assert "role_mapping.event" in tab(page, "settings")
    assert '"name": "Ada"' in tab(page, "inputs")
    assert "Compare with" in tab(page, "beside")


def test_calls(calls: Browser) -> None:
    """Each request of an agent is a column; the line of the cache stands between messages."""
    columns = calls.run(
        "[...document.querySelectorAll('.column')].map(it => it.getAttribute('aria-label'))"
    )
    assert 4 == len(columns)
    assert ", 0 from the cache" in columns[0]
    assert ", 0 from the cache" not in columns[3]
    assert "come from the cache up to about here" in text_of(calls, ".cacheline")
    assert "assistant message" in text_of(calls, ".cacheline")
    assert "First difference from the previous request: assistant" in text_of(
        calls, "#calls > p:last-child"
    )
    calls.run("document.querySelector('.column[tabindex=\"0\"]').focus()")
    for key, number in (("ArrowLeft", 2), ("Home", 0), ("End", 3)):
        calls.press(key)
        settled(calls)
        focused = "[...document.querySelectorAll('.column')].indexOf(document.activeElement)"
        assert number == calls.run(focused)
        assert ["0"] == calls.run(
            "[...document.querySelectorAll('.column')].map(it => it.getAttribute('tabindex'))"
            ".filter(it => it != '-1')"
        )
    for _ in range(2):
        calls.press("[")
        settled(calls)
    assert "true" == calls.run("document.querySelectorAll('.column')[1].ariaCurrent")
    assert "of the previous request" in tab(calls, "changes")
    assert "added" in text_of(calls, "#tab")


def test_side_by_side(calls: Browser) -> None:
    """Two requests are next to each other: figures, and texts."""
    tab(calls, "beside")
    calls.run("document.querySelector('#tab select').value = '1.1'")
    calls.run("document.querySelector('#tab select').dispatchEvent(new Event('change'))")
    rows = texts_of(calls, "#tab tbody tr")
    assert any(row.startswith("messages\t10\t6") for row in rows)
    assert 4 == calls.run("document.querySelectorAll('.texts tr.different').length")


def test_an_error(browser: Browser, two_prompts: str) -> None:
    """A prompt that failed is an error, and the others stay."""
    browser.look()
    browser.open(f"{two_prompts}/page.html#p=2")
    settled(browser)
    assert "LookupError: no plan" in text_of(browser, ".error")
    browser.run("document.querySelector('#prompt').value = '0'")
    browser.run("document.querySelector('#prompt').dispatchEvent(new Event('change'))")
    assert "" == text_of(browser, ".error")
    assert "You are a support agent." in text_of(browser, ".card.system")


def test_texts_of_any_kind(browser: Browser, tmp_path: Path) -> None:
    """Many invisible characters, and letters that change their length, break nothing."""
    texts = ("a\u00a0" * 40_000, "\u0130\u0130\u0130 x", "b\r\n" * 9_000, "\udcff")
    write_page(file := tmp_path / "page.html", PagePrompt("p\udcff", [*map(User, texts)]))
    browser.look()
    for number in range(len(texts)):
        browser.open(f"{file.as_uri()}#r={number}&q=x")
        settled(browser)
        assert 1 == browser.run("document.querySelectorAll('article').length")
        assert [] == browser.complaints()


def test_odd_addresses(browser: Browser, tmp_path: Path) -> None:
    """A prompt without requests, no prompt at all, and wrong words of an address break nothing."""
    prompts = [PagePrompt("empty", ()), PagePrompt("b", (User("Hi."),))]
    write_page(tmp_path / "two.html", *prompts)
    write_page(tmp_path / "none.html")
    browser.look()
    for address in ("two.html", "two.html#p=0.5", "two.html#p=1&tab=toString&r=-7", "none.html"):
        browser.open(f"{tmp_path.as_uri()}/{address}")
        settled(browser)
        browser.press("]")
        settled(browser)
        browser.press("j", "t")
        settled(browser)
        assert [] == browser.complaints(), address


def test_a_click_in_the_payload_of_another_target(browser: Browser, tmp_path: Path) -> None:
    """The page goes to the message that has the text, also if the other target drops others."""
    turns = [
        {"role": role, "content": f"turn {n} " + "word " * 20}
        for n in range(12)
        for role in ("user", "assistant")
    ]
    prompt = Timeline(System("s"), History(turns), User("Why?"))
    options: dict[str, Any] = {"model": "gpt-5", "models": [MODEL], "budget": 400}
    write_page(file := tmp_path / "page.html", prompt, **options)
    browser.look()
    browser.open(f"{file.as_uri()}#t={MODEL}")
    settled(browser)
    browser.run("new Promise(done => setTimeout(done, 300))")
    piece = (
        "[...document.querySelectorAll('.json .string span')].find(it => /turn/.test(it.innerText))"
    )
    chosen = browser.run(f"{piece}.innerText.slice(0, 7)")
    browser.run(f"{piece}.click()")
    pointed = texts_of(browser, ".piece.pointed")
    assert [chosen] == [text[:7] for text in pointed] or "in no message" in text_of(
        browser, "#status"
    )


def test_numbers_are_copied_as_written(browser: Browser, tmp_path: Path) -> None:
    """A large number, and one with a point, stay as they are."""
    call = ToolUse("f", {"big": 12345678901234567890, "one": 1.0}, id="c1")
    prompt = Timeline(User("Hi."), Assistant(call), ToolMessage("c1", "ok"))
    write_page(file := tmp_path / "page.html", prompt, model=MODEL)
    browser.look()
    browser.open(file.as_uri())
    settled(browser)
    browser.run("new Promise(done => setTimeout(done, 200))")
    assert '"big": 12345678901234567890' in text_of(browser, "#tab")
    assert '"one": 1.0' in text_of(browser, "#tab")


def test_keys_are_copied_as_written(browser: Browser, tmp_path: Path) -> None:
    """A payload is copied as ``json.dumps`` writes it: its keys stay, in their order."""
    pairs: list[tuple[str, Any]] = [
        ("10", 1),
        ("2", [1e-5, {}, []]),
        ("__proto__", {"b": 1, "0": "é\x7f\n"}),
    ]
    more: list[tuple[str, Any]] = [("constructor", 2.0), ("", None), ("a", True)]
    call = ToolUse("f", dict([*pairs, *more]), id="c1")
    prompt = Timeline(User("Hi."), Assistant(call), ToolMessage("c1", "ok"))
    write_page(file := tmp_path / "page.html", prompt, model=MODEL)
    browser.look()
    browser.ask("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    browser.open(file.as_uri())
    settled(browser)
    click(browser, "[data-copy=JSON]")
    browser.run("new Promise(done => setTimeout(done, 100))")
    copied = browser.run("navigator.clipboard.readText()")
    payload = render(prompt, model=MODEL).payload()
    assert json.dumps(payload, indent=2, ensure_ascii=False) == copied
    for shown in (text_of(browser, "#tab .json"), text_of(browser, "[data-message='1'] pre")):
        keys = ('"10":', '"2":', '"__proto__":', '"b":', '"0":', '"constructor":', '"":', '"a":')
        places = [shown.index(key) for key in keys]
        assert sorted(places) == places


def test_search(page: Browser) -> None:
    """A search counts messages, marks the words, and goes from one to the next."""
    page.press("/")
    page.ask("Input.insertText", text="SUPPORT")
    assert "1 message" == text_of(page, "#matches")
    assert 1 == page.run("CSS.highlights.get('found').size")
    page.press("Enter")
    assert "q" == page.run("document.activeElement.id")
    page.ask("Input.insertText", text="content")
    assert "0 messages" == text_of(page, "#matches")


def test_a_reload_keeps_what_was_chosen(calls: Browser) -> None:
    """The address keeps prompt, request, tab, search and piece."""
    calls.press("/")
    calls.ask("Input.insertText", text="bug")
    calls.run("document.querySelectorAll('.piece')[0].click()")
    tab(calls, "settings")
    address = calls.run("location.href")
    calls.ask("Page.reload")
    calls.open(address)
    settled(calls)
    assert "agent" == text_of(calls, "#title")
    assert "true" == calls.run("document.querySelectorAll('.column')[3].ariaCurrent")
    assert "Settings" == text_of(calls, "[aria-selected=true]")
    assert "1 message" == text_of(calls, "#matches")
    assert 1 == calls.run("document.querySelectorAll('.piece.pointed').length")


def test_selected_text_is_counted(page: Browser) -> None:
    """Selected text has tokens, and a share of the request."""
    page.run("getSelection().selectAllChildren(document.querySelector('.card.system .text'))")
    page.run("new Promise(done => setTimeout(done, 50))")
    assert "% of the request" in text_of(page, "#status")


def test_copy(page: Browser) -> None:
    """A payload is copied as JSON."""
    page.ask("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    click(page, "[data-copy=JSON]")
    page.run("new Promise(done => setTimeout(done, 100))")
    assert "Copied" == text_of(page, "[data-copy=JSON]")
    copied = page.run("navigator.clipboard.readText()")
    assert render(answer(), model=MODEL, budget=230, reserve=30, cache="auto").payload() == (
        json.loads(copied)
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["answer.html", "page.html#p=1&r=3", "page.html#p=2"])
def test_everybody_can_use_it(calls: Browser, axe: str, scheme: str, name: str) -> None:
    """Axe finds nothing, in each tab."""
    browser = calls
    browser.look(1400, scheme)
    browser.open(f"{calls.run('location.href').rpartition('/')[0]}/{name}")
    settled(browser)
    browser.ask("Runtime.evaluate", expression=axe)
    for tab_name in ("payload", "losses", "changes", "budgets", "settings", "inputs", "beside"):
        tab(browser, tab_name)
        problems = browser.run(
            "axe.run().then(it => it.violations.map(one => [one.id, one.nodes[0].html]))"
        )
        assert [] == problems, tab_name


@pytest.mark.slow
def test_ten_thousand_messages(browser: Browser, tmp_path: Path) -> None:
    """Of a long conversation only what is near the screen is there; the end is found at once."""
    messages = [
        Message("user" if n % 2 == 0 else "assistant", [TextBlock(f"Message {n}.")])
        for n in range(10_000)
    ]
    file = tmp_path / "page.html"
    write_page(file, Timeline(History(messages)), model="gpt-5")
    browser.look()
    browser.open(file.as_uri())
    settled(browser)
    assert browser.run(NODES) < 1_000
    for action in ACTIONS.values():
        browser.run(f"void ({action})")
        settled(browser)
        browser.run("new Promise(done => setTimeout(done, 200))")
        assert browser.run(NODES) < 1_000, action
    browser.press("/")
    browser.ask("Input.insertText", text="message 9999.")
    browser.press("Enter")
    assert "Message 9999." in text_of(browser, "[data-message='9999']")
    browser.run("[...document.querySelectorAll('.piece')].at(-1).click()")
    assert ["Message 9999."] == texts_of(browser, "#tab mark")
    browser.run("new Promise(done => setTimeout(done, 200))")
    assert browser.run(NODES) < 1_000
