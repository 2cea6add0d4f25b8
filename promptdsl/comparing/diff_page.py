"""The HTML page of a report: it loads nothing, and no text of a prompt acts as markup.

Read :func:`page` first. ``diff_page.css`` and ``diff_page.js`` are its style and its script.
"""

import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Literal

from promptdsl.comparing.changes import Change
from promptdsl.comparing.compared_prompts import (
    ChangeGroup,
    ComparedPrompts,
    PromptComparison,
    tokens_each,
)
from promptdsl.comparing.text import Row, note_of, rows_of
from promptdsl.foundation.errors import counted
from promptdsl.foundation.unicode import visible

# The policy of a page that loads nothing: a browser runs only the style and script in the page.


def content_policy(style: str, script: str, *more_rules: str) -> str:
    """Return the Content-Security-Policy of a page, escaped for an attribute of HTML.

    It allows only this style and this script. ``more_rules`` are added to it.

    >>> from promptdsl.comparing import content_policy
    >>> content_policy("", "", "img-src data:").partition("; ")[0]
    'default-src &#x27;none&#x27;'
    """
    style_hash, script_hash = (
        b64encode(sha256(code.encode()).digest()).decode() for code in (style, script)
    )
    rules = (
        "default-src 'none'",
        f"style-src 'sha256-{style_hash}'",
        f"script-src 'sha256-{script_hash}'",
        *more_rules,
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
    )
    return escape("; ".join(rules))


# The page of a report. It is complete without its script: the script adds filters and keys.

PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
{counts}
{costs}
</header>
{filters}
<main>
{alike}
{prompts}
</main>
<dialog id="help" aria-labelledby="help-title">
<h2 id="help-title">Keys</h2>
<dl>
<div><dt><kbd>j</kbd></dt><dd>next change</dd></div>
<div><dt><kbd>k</kbd></dt><dd>previous change</dd></div>
<div><dt><kbd>/</kbd></dt><dd>search</dd></div>
<div><dt><kbd>f</kbd></dt><dd>fold this change, or unfold it</dd></div>
<div><dt><kbd>F</kbd></dt><dd>fold all changes, or unfold them</dd></div>
<div><dt><kbd>c</kbd></dt><dd>clear the filters</dd></div>
<div><dt><kbd>?</kbd></dt><dd>this list</dd></div>
</dl>
<p>The address of this page includes the filters and the current change, so you can share it.</p>
<button type="button" data-does="close">Close</button>
</dialog>
<script>{script}</script>
</body>
</html>
"""
MAX_OPTION = 60
"""The maximum number of characters of an option of a filter."""
SENTENCE_BY_STATUS = {
    "added": "<p>This prompt is new.</p>",
    "removed": "<p>This prompt was removed.</p>",
}
"""The sentence on a prompt that is only in one of the two versions, by its status."""
NO_MODEL = "none"
"""What the header of a snapshot says if there is no model."""
_SIGN = re.compile("⟦[^⟦⟧]+⟧|⟦⟦⟧")
"""The bracket for an invisible character, or for a value that changes."""


def page(report: ComparedPrompts) -> str:
    """Return the page of a report."""
    files = (Path(__file__).with_name(name) for name in ("diff_page.css", "diff_page.js"))
    style, script = (f"\n{file.read_text('utf-8')}" for file in files)
    prompts = report.prompts
    changed_indices = [index for index, prompt in enumerate(prompts) if prompt.status != "same"]
    shared_groups = defaultdict[int, list[tuple[int, ChangeGroup]]](list)
    own_groups = defaultdict[int, list[ChangeGroup]](list)
    for group_index, group in enumerate(report.shared):
        for index in dict.fromkeys(group.prompts):
            shared_groups[index].append((group_index, group))
    for group in report.groups:
        if len({*group.prompts}) == 1:
            own_groups[group.prompts[0]].append(group)
    cards = [
        _prompt(index, prompts[index], shared_groups[index], own_groups[index])
        for index in changed_indices
    ]
    total = counted(len(prompts), "prompt", "prompts")
    verb = "differs" if len(changed_indices) == 1 else "differ"
    title = (
        f"{len(changed_indices):,} of {total} {verb}"
        if changed_indices
        else f"No difference in {total}"
    )
    statuses = ("changed", "added", "removed", "renamed", "unreadable", "same")
    counts = [(status, sum(prompt.status == status for prompt in prompts)) for status in statuses]
    items = [
        f"<li class={status}><b>{count:,}</b> {status}</li>" for status, count in counts if count
    ]
    return PAGE.format(
        policy=content_policy(style, script),
        title=title,
        style=style,
        script=script,
        counts=f"<ul class=counts>{''.join(items)}</ul>",
        costs=f"<p class=costs>{_line(report.costs)}</p>" if report.costs else "",
        filters=_filters([prompts[index] for index in changed_indices], report.groups)
        if changed_indices
        else "",
        alike=_titled(
            "Changed alike",
            [_alike(index, group, prompts) for index, group in enumerate(report.shared)],
        ),
        prompts=_titled("Prompts", cards),
    )


def _filters(prompts: Sequence[PromptComparison], groups: Sequence[ChangeGroup]) -> str:
    """Return the fields that filter the changes, and the buttons."""
    sections = dict.fromkeys(_section(group.change) for group in groups)
    kinds = sorted({group.change.kind for group in groups})
    models = sorted({_model(prompt) for prompt in prompts})
    return f"""\
<div id="filters" role="search" aria-label="Filter the changes" hidden>
<label>Search <input type="search" id="q" placeholder="text, name" autocomplete="off"></label>
{_choice("section", "Section", "all sections", sections)}
{_choice("model", "Model", "all models", models)}
{_choice("kind", "Kind", "all kinds", kinds)}
<output id="count" aria-live="polite"></output>
<span class="buttons">
<button type="button" data-does="previous" title="Previous change (k)">↑ Previous</button>
<button type="button" data-does="next" title="Next change (j)">↓ Next</button>
<button type="button" data-does="clear" title="Clear the filters (c)">Clear</button>
<button type="button" data-does="help" title="Keys (?)" aria-label="Keys">?</button>
</span>
</div>"""


def _choice(id: str, label: str, label_of_all: str, names: Iterable[str]) -> str:
    """Return a select field with an option for each name, after an option for all of them."""
    options = "".join(
        f'<option value="{_line(option)}">{_line(option[:MAX_OPTION])}'
        f"{'…' * (len(option) > MAX_OPTION)}</option>"
        for option in names
    )
    first = f'<option value="">{label_of_all}</option>'
    return f'<label>{label} <select id="{id}">{first}{options}</select></label>'


def _titled(title: str, parts: Sequence[str]) -> str:
    return f"<section><h2>{title}</h2>\n{''.join(parts)}</section>" if parts else ""


def _alike(index: int, group: ChangeGroup, prompts: Sequence[PromptComparison]) -> str:
    """Return a shared change, with links to the prompts that have it."""
    indices = [*dict.fromkeys(group.prompts)]
    links = [
        f'<li data-model="{_line(_model(prompts[prompt_index]))}"><a href="#p{prompt_index}">'
        f"{_name(prompts[prompt_index].name)}</a></li>"
        for prompt_index in indices
    ]
    # A long list of prompts is folded, so that the next change is on the screen.
    names = (
        f"<details class=where{' open' * (len(links) <= 8)}><summary>In {len(links):,} prompts"
        f"</summary><ul>{''.join(links)}</ul></details>"
    )
    badges = [f"{len(links):,} prompts", *filter(None, [group.loss])]
    return _change(f"g{index}", group, badges, names, heading="h3")


def _prompt(
    prompt_index: int,
    prompt: PromptComparison,
    shared: Sequence[tuple[int, ChangeGroup]],
    own_groups: Sequence[ChangeGroup],
) -> str:
    """Return a prompt with the changes that only it has, and links to the changes it shares."""
    model, facts, sentences = _line(_model(prompt)), SENTENCE_BY_STATUS.get(prompt.status, ""), ""
    if prompt.diff is not None:
        sentences = f"<p class=sentence>{_quoted(prompt.diff.sentence)}</p>"
        if prompt.diff.prefix is not None and not prompt.diff.prefix.is_complete:
            sentences += f"<p class=sentence>{_quoted(str(prompt.diff.prefix))}</p>"
    if prompt.problem:
        facts += f"<p class=problem>{_text(prompt.problem)}</p>"
    if prompt.was:
        facts += f"<p>It was named <code>{_line(prompt.was)}</code>.</p>"
    badge = f"<span class=model>{model}</span> " if model != NO_MODEL else ""
    links = (
        f'<details class=shared data-group="g{index}" data-kind="{group.change.kind}" '
        f'data-section="{_line(_section(group.change))}"><summary>{_location(group.change)} '
        f"{group.change.kind} alike in {len({*group.prompts}):,} prompts</summary>"
        f'<p><a href="#g{index}">The change and its prompts</a></p></details>\n'
        for index, group in shared
    )
    changes = (_change(f"p{prompt_index}-{index}", group) for index, group in enumerate(own_groups))
    # A prompt that has only shared changes is folded to one row.
    is_open = " open" if own_groups or facts or not shared else ""
    return (
        f'<details{is_open} class=prompt id="p{prompt_index}" data-model="{model}"><summary>'
        f"<h3>{_name(prompt.name)}</h3> {badge}"
        f"<span class={prompt.status}>{prompt.status}</span> {_totals(prompt)}</summary>\n"
        f"{_bars(prompt)}{sentences}{facts}{''.join(links)}{''.join(changes)}</details>\n"
    )


def _change(
    id: str,
    group: ChangeGroup,
    prompt_badges: Sequence[str] = (),
    prompt_list: str = "",
    *,
    heading: Literal["h3", "h4"] = "h4",
) -> str:
    """Return a foldable change: its location and kind, its rows, and the prompts that have it.

    ``id`` is that of its HTML element. ``prompt_badges`` are texts, ``prompt_list`` is HTML.
    """
    change, note = group.change, _quoted(note_of(group.change))
    gain = f"<span class=tokens>{tokens_each(group.tokens)}</span>" if any(group.tokens) else ""
    badges = [f"<span class={change.kind}>{change.kind}</span>", gain]
    badges += [f"<span class=many>{text}</span>" for text in prompt_badges]
    title = f"<{heading}>{_location(change)}</{heading}>"
    return (
        f'<details open class=change id="{id}" data-kind="{change.kind}" '
        f'data-section="{_line(_section(change))}"><summary>{title} '
        f"{' '.join(filter(None, badges))}</summary>\n"
        f"<p class=note>{note}</p>{_rows(change)}{prompt_list}</details>\n"
    )


def _rows(change: Change) -> str:
    """Return the lines of a change as a table: before on the left, after on the right.

    Empty lines at its end are left out: they are only the gap before the next part.
    """
    if change.before == change.after:
        return ""
    is_missing = change.before is None, change.after is None
    kind = {(True, False): "added", (False, True): "removed"}.get(is_missing, "equal")
    rows = [*rows_of(change)]
    while len(rows) > 1 and rows[-1][:3] == (kind, "", ""):
        rows.pop()
    head = "<thead><tr><th scope=col>Before</th><th scope=col>After</th></tr></thead>"
    body = "".join(map(_row, rows))
    return f"<table class={kind}>{head}<tbody>{body}</tbody></table>\n"


def _row(row: Row) -> str:
    """Return a row of the table of a change."""
    if row.kind == "skipped":
        return f"<tr class=skipped><td colspan=2>… {row.size:,} equal lines</td></tr>"
    before, after = _text(row.before), _text(row.after)
    if row.words:
        before = "".join(_text(hunk.equal) + _tagged("del", hunk.removed) for hunk in row.words)
        after = "".join(_text(hunk.equal) + _tagged("ins", hunk.added) for hunk in row.words)
    return f"<tr class={row.kind}><td>{before}</td><td>{after}</td></tr>"


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>{_text(text)}</{tag}>" if text else ""


def _totals(prompt: PromptComparison) -> str:
    """Return the token totals of a prompt before and after; empty if one is not known."""
    if prompt.diff is None or prompt.diff.tokens.before is None or prompt.diff.tokens.after is None:
        return ""
    tokens = prompt.diff.tokens
    if tokens.label_before:
        return f"<span class=tokens>{_line(str(tokens))}</span>"
    about = "" if tokens.is_exact else "~"
    counts = [f"{about}{count:,}" for count in dict.fromkeys((tokens.before, tokens.after))]
    gain = f", {tokens.added:+,}" if tokens.added else ""
    title = _line(tokens.label)
    return f'<span class=tokens title="{title}">{" → ".join(counts)} tokens{gain}</span>'


def _bars(prompt: PromptComparison) -> str:
    """Return a bar of the tokens before, and a bar of the tokens after with the cached part."""
    if prompt.diff is None or not prompt.diff.tokens.before or not prompt.diff.tokens.after:
        return ""
    tokens, prefix = prompt.diff.tokens, prompt.diff.prefix
    before, after = prompt.diff.tokens.before, prompt.diff.tokens.after
    cached = 0 if prefix is None else min(prefix.served, after)
    unit = 100 / max(before, after)
    unit_name = "token" if before == 1 else "tokens"
    words = f"{before:,} {unit_name} before, {after:,} after"
    words += f", {cached:,} of them from the cache" if cached else ""
    label = f"about {words}" if not tokens.is_exact else words
    bars = _bar("before", 0, before * unit, 0) + _bar("cached", 0, cached * unit, 6)
    bars += _bar("after", cached * unit, (after - cached) * unit, 6)
    # This is SVG, as the policy of the page allows no style attribute. Its picture is 100 wide and
    # 10 high: the upper bar is 4 high, the lower bar begins at 6.
    return (
        f'<svg class=bars viewBox="0 0 100 10" preserveAspectRatio="none" role=img '
        f'aria-label="{label}">{bars}</svg><p class=sentence>{label}</p>'
    )


def _bar(kind: str, start: float, width: float, top: int) -> str:
    return f'<rect class={kind} x="{start:.1f}" y="{top}" width="{width:.1f}" height="4"/>'


def _section(change: Change) -> str:
    return " > ".join(change.location)


def _model(prompt: PromptComparison) -> str:
    header = dict(prompt.diff.after.header) if prompt.diff else {}
    return prompt.model or header.get("model", "").partition(" (")[0] or NO_MODEL


def _location(change: Change) -> str:
    return " <i>&rsaquo;</i> ".join(map(_line, change.location))


def _name(name: str) -> str:
    """Return the path of a snapshot, with its folders in small text; lines may break in it."""
    folder, slash, last = name.rpartition("/")
    return f"<small>{_breakable(folder + slash)}</small>{_breakable(last)}"


def _breakable(name: str) -> str:
    return re.sub("(/)|(?=[.])", r"\1<wbr>", _line(name))


def _quoted(text: str) -> str:
    """Return a sentence of the report; names in backticks become code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", _line(text))


def _text(text: str) -> str:
    return _SIGN.sub(r"<i>\g<0></i>", escape(visible(text)))


def _line(text: str) -> str:
    return escape(visible(text, one_line=True))
