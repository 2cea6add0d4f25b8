"""The data of a page: what it has of each target, and that equal values occur once."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import attrs
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import promptdsl
from promptdsl import *
from promptdsl.comparing import parse, prompt_file, serialise
from promptdsl.page import PagePrompt, page_data, page_html, prompts_of_inputs, write_page
from tests.errors import raised
from tests.page.__main__ import FILE, data
from tests.page.prompts import MODEL, agent, answer
from tests.page.read import data_in, requests_of

SCHEMA = json.loads((Path(promptdsl.__file__).parent / "page/page.schema.json").read_text("utf-8"))
TEXTS = st.text("~ab", max_size=4) | st.sampled_from(["long " * 20, "line\n" * 300, "~\n" * 700])
KEYS = TEXTS | st.sampled_from(
    ["10", "2", "0", "007", "__proto__", "constructor", "", "4294967295"]
)
DATA = st.recursive(
    TEXTS | st.integers(-9, 9) | st.none(),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(KEYS, parts, max_size=3),
    max_leaves=8,
)
REQUEST: dict[str, Any] = {**SCHEMA["$defs"]["request"], "$defs": SCHEMA["$defs"]}


def checked(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the requests of a page whose data is as its schema says."""
    read: dict[str, Any] = json.loads(json.dumps(data, default=str))
    jsonschema.Draft202012Validator(SCHEMA).validate(read)
    requests = requests_of(read)
    for request in requests:
        jsonschema.Draft202012Validator(REQUEST).validate(request)
    return requests


def test_a_prompt() -> None:
    """A prompt is rendered with the options; its record, payload and locations are there."""
    (request,) = checked(page_data(answer(), model=MODEL, budget=230, models=["gpt-5"]))
    rendered = render(answer(), model=MODEL, budget=230)
    assert rendered.record().to_dict()["tokens"] == request["record"]["tokens"]
    assert [MODEL, "gpt-5"] == [*request["targets"]]
    assert rendered.payload() == request["targets"][MODEL]["payload"]
    assert (
        render(answer(), model="gpt-5", budget=230).payload()
        == (request["targets"]["gpt-5"]["payload"])
    )


def test_other_budgets() -> None:
    """A prompt with a budget has what sixteen others send: none is over, the largest drops none."""
    (request,) = checked(page_data(answer(), model=MODEL, budget=230, reserve=30))
    fits = request["fits"]
    assert 16 <= len(fits) <= 17
    assert 230 in [fit["budget"] for fit in fits]
    assert [] == [fit for fit in fits if fit["tokens"] and fit["tokens"] + 30 > fit["budget"]]
    assert [] == fits[-1]["dropped"]
    assert fits[0]["dropped"]


def test_two_requests() -> None:
    """A request says what it shares with the one before it, and what changed."""
    prompts = PagePrompt("agent", (agent(2), agent(3)))
    first, second = checked(page_data(prompts, model=MODEL, cache="auto"))
    assert first["prefix"] is first["changes"] is None
    assert second["prefix"]["read_from_cache"] > 1_000
    assert "added" in second["changes"]["sentence"]


def test_a_log(tmp_path: Path) -> None:
    """A log has a prompt for each name, with its requests by time; payloads only if asked for."""
    with PromptLog(tmp_path) as log:
        for calls in range(3):
            record = render(agent(calls), model=MODEL, cache="auto").record()
            log.append(record, name="agent", id=f"call {calls}")
        log.append(render(answer(), model="gpt-5").record(), name="answer")
    data = page_data(PromptLog(tmp_path), models=["gemini"])
    assert ["agent", "answer"] == [prompt["name"] for prompt in data["prompts"]]
    *calls_of_agent, other = checked(data)
    assert ["call 0", "call 1", "call 2"] == [request["id"] for request in calls_of_agent]
    assert ["gemini"] == [*other["targets"]]
    assert calls_of_agent[1]["prefix"]["read_from_cache"] > 0
    assert "source" not in calls_of_agent[1]["prefix"]["first"]


def test_a_record_of_format_1_0() -> None:
    """An older record shows what it has."""
    file = Path(__file__).parents[1] / "records" / "record-1.0.json"
    (request,) = checked(page_data(PromptRecord.load(file)))
    assert json.loads(file.read_text("utf-8"))["spans"] == request["record"]["spans"]


def test_targets_that_fail() -> None:
    """A prompt that fails is an error on the page, with the code around its line."""
    too_large = User("word " * 500)
    wrong = LookupError("no plan")
    prompts = [PagePrompt("a", (too_large,)), PagePrompt("b", (wrong,))]
    over, foreign, good = checked(page_data(*prompts, answer(), model=MODEL, budget=400))
    assert {"budget", "required", "rows", "what", "fix", "at", "code"} == {*over["error"]}
    assert any("too_large = User" in line["text"] for line in over["error"]["code"])
    assert "LookupError: no plan" == foreign["error"]["what"]
    assert good["error"] is None


def broken(_: str) -> int:
    """Count nothing."""
    raise ValueError("no counter")


def test_code_of_an_author_that_fails() -> None:
    """An error of a counter, or of a lazy that works once, is on the page or costs a figure."""
    (request,) = checked(page_data(answer(), model=MODEL, counter=broken))
    assert "ValueError: no counter" == request["error"]["what"].splitlines()[0]
    values = iter(["first"])
    once = Timeline(System(Lazy(lambda _: next(values))), User("Hi."))
    (request,) = checked(page_data(once, model=MODEL, budget=1_000))
    assert (None, []) == (request["error"], request["fits"])


def test_a_record_with_missing_keys() -> None:
    """A record of another writer is shown, and does not take the others along."""
    data = render(answer(), model=MODEL, budget=230).record().to_dict()
    keys = ("budget", "libraries", "settings")
    records = [
        PromptRecord.from_dict({key: value for key, value in data.items() if key != left_out})
        for left_out in keys
    ]
    for content in (True, False):
        requests = requests_of(json.loads(json.dumps(page_data(*records, content=content))))
        assert [3, 3] == [len(requests), sum(bool(request["record"]) for request in requests)]


@pytest.mark.parametrize("number", [1.0, 2**53, -(10**30), 1e300, 1e-5, True, 0, 0.5])
def test_a_number_is_kept(number: float) -> None:
    """A number is read as it was written, also one that JavaScript would change."""
    (request,) = requests_of(page_data(PagePrompt("p", (User("a"),), {"n": number})))
    value = request["record"]["inputs"]["n"]
    assert (json.dumps(number), type(number)) == (json.dumps(value), type(value))


@pytest.mark.parametrize("price", [(float("nan"),), (-1,), "12", (1, 2, 3), ()])
def test_a_wrong_price(price: Any) -> None:
    """A price is one or two numbers."""
    assert "the price " in raised(OptionError, lambda: page_data(answer(), price=price)).what


def test_models_are_a_list() -> None:
    """A string of models is an error, not a list of letters."""
    call = lambda: page_data(answer(), models="gpt-5")  # noqa: E731
    assert "models is a string, not a list of names" == raised(OptionError, call).what


def test_a_failed_request_between_two() -> None:
    """A request is compared with the last one that was made."""
    prompts = PagePrompt("agent", (agent(1), LookupError("no"), agent(2)))
    *_, third = checked(page_data(prompts, model=MODEL, cache="auto"))
    assert third["prefix"]["read_from_cache"] > 1_000


def test_a_payload_that_fails() -> None:
    """Where one target fails, the others stay."""
    (request,) = checked(page_data(answer(), model=MODEL, models=["no-such-model", "gemini"]))
    assert "error" in request["targets"]["no-such-model"]
    assert "payload" in request["targets"]["gemini"]


@pytest.mark.parametrize("target", [3, "text", None, [answer()], PagePrompt("a", ("text",))])  # type: ignore[arg-type]
def test_what_no_page_shows(target: Any) -> None:
    """Another object is an error at the author's line."""
    assert "a page cannot show" in raised(OptionError, lambda: page_data(target)).what


def test_payloads_have_content() -> None:
    """A page without content takes no models."""
    call = lambda: page_data(answer(), models=["gpt-5"], content=False)  # noqa: E731
    assert "payloads have content, but this page must have none" == raised(OptionError, call).what


@given(value=DATA)
def test_values_stand_once(value: Any) -> None:
    """Any data is read as it was written, and a long value stands once."""
    prompt = User(Value("a"))
    inputs = {"same": value, "again": value, "~": "~1"}
    (request,) = requests_of(page_data(PagePrompt("p", (prompt,), inputs)))
    assert json.dumps(inputs) == json.dumps(request["record"]["inputs"])


def test_lines_of_a_growing_text_stand_once() -> None:
    """Of texts that begin alike, such as dropped parts of a long history, only the ends are new."""
    lines = [f"{number}: {'word ' * 30}\n" for number in range(100)]
    texts = ["".join(lines[: number + 1]) for number in range(100)]
    prompt = PagePrompt("p", (User("a"),), {"texts": texts})
    assert len(json.dumps(page_data(prompt))) < 4 * len(texts[-1])


def test_a_long_conversation_is_small() -> None:
    """What the requests of an agent share is in the page once."""
    one, many = (
        len(page_html(page_data(PagePrompt("agent", [agent(n) for n in calls]), model=MODEL)))
        for calls in ([8], [1, 2, 3, 4, 5, 6, 7, 8])
    )
    assert many < 3 * one


def letters(random: Random) -> str:
    """Return twelve random letters."""
    return "".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=12))


@pytest.mark.parametrize("model", [MODEL, "gpt-5", "gemini-2.5-pro"])
def test_without_content(tmp_path: Path, model: str) -> None:
    """No six letters of a text, value, id, name or path are in the page; ids of sections are."""
    random = Random(7)
    said = [letters(random) for _ in range(9)]
    with Timeline() as prompt:
        System(Section("rules", said[0], title=said[1]))
        Grounding(said[2], said[3], priority=-1)
        User("I am ", Value(said[4]), name=said[5])
        Assistant(Text(said[6], Volatile(said[7], label=said[8])))
        User("Yes.")
    with PromptLog(tmp_path / "log") as log:
        log.append(render(prompt, model=model).record({"x": said[0]}), name=said[1], id=said[2])
    targets = [
        PagePrompt(said[0], (prompt, prompt, ValueError(said[3])), {"x": said[4]}),
        PromptLog(tmp_path / "log"),
    ]
    write_page(tmp_path / "p.html", *targets, model=model, budget=120, content=False)
    data = data_in(tmp_path / "p.html")
    checked(data)
    text = json.dumps(data)
    pieces = {word[start : start + 6] for word in said for start in range(7)}
    assert [] == [piece for piece in pieces if piece in text]
    assert str(tmp_path) not in text
    assert Path(__file__).name not in text
    assert "rules" in text


def foreign(value: Any, random: Random, key: str = "") -> Any:
    """Return a record with random letters for each text, and in each object for one more key."""
    if isinstance(value, dict):
        row = {name: foreign(part, random, name) for name, part in value.items()}
        return {**row, letters(random): letters(random)}
    if isinstance(value, list):
        return [*(foreign(part, random, key) for part in value)]
    if not isinstance(value, str) or key == "format":
        return value
    return f"{letters(random)}:7" if key == "source" else letters(random)


RECORD: dict[str, Any] = render(answer(), model=MODEL, budget=230).record().to_dict()


@pytest.mark.parametrize("key", sorted(RECORD))
def test_without_the_content_of_a_foreign_record(key: str) -> None:
    """No six letters of any text or key of a record of another writer are in the page."""
    random = Random(key)
    data = {**RECORD, key: foreign(RECORD[key], random, key), letters(random): letters(random)}
    entry = LogEntry(letters(random), letters(random), letters(random), data)
    page = page_data(PagePrompt(entry.name or "", (entry,)), content=False)
    text = json.dumps([page["prompts"], page["values"]])
    words = set(re.findall("[a-z]{12}", json.dumps(attrs.asdict(entry))))
    words -= set(re.findall("[a-z]{12}", json.dumps(RECORD)))
    pieces = {word[start : start + 6] for word in words for start in range(7)}
    assert [] == [piece for piece in pieces if piece in text]


def test_words_of_the_package_stay() -> None:
    """Without content, what the package itself says of a request is there."""
    (request,) = requests_of(page_data(answer(), model=MODEL, budget=230, content=False))
    bare = render(answer(), model=MODEL, budget=230).record(content=False).to_dict()
    record = request["record"]
    for key in ("messages", "sent", "spans", "tokens", "budget", "dropped"):
        assert bare[key] == record[key], key
    assert {"provider": "anthropic", "model": MODEL, "known": True} == record["model"]
    assert {*bare["settings"]} == {*record["settings"]}


@given(text=st.text(st.characters(exclude_categories=())))
def test_any_text_is_kept(text: str) -> None:
    """The data in a page is what was put in, whatever a text has: tags, halves of pairs, marks."""
    data = page_data(PagePrompt(f"prompt {text}", (User(Value("a")),), {"value": text}))
    read = data_in(page_html(data))
    assert f"prompt {text}" == read["prompts"][0]["name"]
    assert text == requests_of(read)[0]["record"]["inputs"]["value"]


def test_a_page_is_written_over_a_page_only(tmp_path: Path) -> None:
    """An older page is replaced; another file is an error, and stays."""
    page, other = tmp_path / "page.html", tmp_path / "notes.html"
    other.write_text("<p>Notes")
    for _ in range(2):
        assert [] == write_page(page, answer(), model=MODEL)
    error = raised(DataError, lambda: write_page(other, answer(), model=MODEL))
    assert f"{other} has other content" == error.what
    assert "<p>Notes" == other.read_text()


def test_the_file_of_the_page_is_as_written() -> None:
    """The file that feeds the page in a test is what the package writes now."""
    assert data() == FILE.read_text("utf-8")


def test_prompts_of_inputs() -> None:
    """A function is called with each of the named inputs; a call that fails is an error there."""

    def ask(question: str, history: Any = ()) -> Timeline:
        return Timeline(History(history), User(question))

    talk = History([{"role": "user", "content": "Hi."}])
    inputs = {
        "short": {"question": "Why?"},
        "wrong": {},
        "talk": {"question": "?", "history": [talk]},
    }
    data = page_data(*prompts_of_inputs(ask, inputs, name="support"), model=MODEL)
    short, wrong, failed = checked(data)
    assert [
        ("support (short)", "short"),
        ("support (wrong)", "wrong"),
        ("support (talk)", "talk"),
    ] == [(prompt["name"], prompt["inputs"]) for prompt in data["prompts"]]
    assert {"question": "Why?"} == short["record"]["inputs"]
    assert "inputs 'wrong' have no 'question', which ask needs" == wrong["error"]["what"]
    assert failed["error"]["what"].startswith("a History")


def test_what_a_payload_is_sent_to() -> None:
    """A payload has its format, its provider and its model, and where bytes are in it."""
    image = Image.from_bytes(b"\x89PNG\r\n\x1a\n", "image/png")
    (request,) = checked(
        page_data(User("Hi.", image), models=["gpt-5", "mistral", "bedrock", "gemini"])
    )
    chat, server, bedrock, gemini = request["targets"].values()
    sent = {"format": "openai", "provider": "openai", "model": "gpt-5", "lifted": [], "options": ""}
    assert (sent, []) == (chat["api"], chat["binary"])
    assert sent | {"provider": "mistral", "model": None} == server["api"]
    assert [["messages", 0, "content", 1, "image", "source", "bytes"]] == bedrock["binary"]
    assert ["system_instruction", "tools", "tool_config"] == gemini["api"]["lifted"]
    assert "generation_config" == gemini["api"]["options"]


def row_of(target: object) -> dict[str, Any]:
    """Return the only request of a page."""
    data = page_data(target, model="gpt-5")
    (request,) = requests_of(data)
    return request


def test_the_line_of_a_syntax_error() -> None:
    """The error of code that cannot be compiled has the line that Python names."""
    with pytest.raises(SyntaxError) as caught:
        compile("x = 1\ny = (\n", "/srv/rules.py", "exec")
    error = row_of(caught.value)["error"]
    assert ["/srv/rules.py:2"] == error["at"]
    assert error["what"].startswith("SyntaxError: ")


@pytest.mark.parametrize("text", ["a\n\n{{ who }}", "a\n\n{{ who"])
def test_the_line_of_a_template(tmp_path: Path, text: str) -> None:
    """An error in the file of a template has the line there first, with the text around it."""
    (file := tmp_path / "rule.md.j2").write_text(text)
    error = row_of(System(Template(file)))["error"]
    assert f"{file}:3" == error["at"][0]
    assert ["a", "", text.splitlines()[-1]] == [line["text"] for line in error["code"]]
    assert __file__ in error["at"][1]


def test_a_request_is_compared_with_a_snapshot() -> None:
    """The first request is compared with the snapshot before it, in the words of the differ."""
    old, new = (System(Section("role", text)) for text in ("Be kind.", "Be brief."))
    before = parse(serialise(prompt_file(render(old, model="gpt-5"))))
    (request,) = requests_of(page_data(PagePrompt("p", (new,), before=before), model="gpt-5"))
    assert "`role` changed: 1 line" == request["changes"]["sentence"]
    assert request["prefix"] is None
