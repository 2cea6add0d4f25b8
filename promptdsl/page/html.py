"""The file of a page: its data, its style and its scripts in one; it loads nothing.

Read :func:`page_html` first.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from promptdsl.comparing import content_policy, visible, write_or_refuse
from promptdsl.foundation.source import public_api
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.page.data import made_page

BEGINNING = "<!doctype html>\n<!-- a page of promptdsl -->\n"
"""The beginning of each page: a file that begins with it may be overwritten."""
PAGE = """\
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript><p>This page shows its data with a script, and scripts are switched off.</p></noscript>
<div id="app"></div>
<script type="application/json" id="data">{data}</script>
{values}
<script>{script}</script>
</body>
</html>
"""
MIN_SCRIPT = 100_000
"""Values that together have at least this many characters are one script."""
MODULES = (
    "values",
    "dom",
    "code",
    "state",
    "numbers",
    "tree",
    "messages",
    "payloads",
    "calls",
    "tabs",
    "app",
)
"""The modules of the page; each imports only modules before it."""
# An import of names from another module, and an exported name.
_IMPORT = re.compile(r'^import \{(.*?)\} from "\./(\w+)\.js";', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)


@public_api
def write_page(
    path: str | os.PathLike[str],
    *targets: object,
    models: Sequence[str] = (),
    price: Sequence[float] | None = None,
    content: bool = True,
    **options: Any,  # Any: options of render()
) -> list[str]:
    """Write a page that shows targets to a file, and return a line for each request with an error.

    The arguments are those of :func:`page_data`. Only its owner can read a new file (mode 0600).
    Raises what :func:`page_data` raises, :class:`DataError` for a file that has other content than
    a page, and :class:`OSError` if the file cannot be written.

    >>> from tempfile import mkdtemp
    >>> from promptdsl import System
    >>> from promptdsl.page import write_page
    >>> write_page(f"{mkdtemp()}/page.html", System("Be kind."), model="gpt-5")
    []
    """
    data, errors = made_page(*targets, models=models, price=price, content=content, **options)
    write_or_refuse(os.fspath(path), page_html(data), is_page)
    return errors


def page_html(data: Mapping[str, Any]) -> str:  # Any: JSON data
    """Return the page that shows the data of :func:`page_data`, as the text of an HTML file."""
    names = ", ".join(prompt["name"] for prompt in data["prompts"]) or "no prompt"
    return _html(names, data, MODULES, "img-src data:")


def live_page_html(title: str) -> str:
    """Return the page of the live preview. It has no data: it asks its server for them.

    >>> from promptdsl.page import live_page_html
    >>> "<title>support.py</title>" in live_page_html("support.py")
    True
    """
    data = made_page(models=(), price=None, content=True)[0]
    return _html(title, data, (*MODULES, "live"), "img-src data:", "connect-src 'self'")


def _html(title: str, data: Mapping[str, Any], modules: Sequence[str], *rules: str) -> str:
    """Return the text of a page; ``rules`` are added to its policy."""
    folder = Path(__file__).parent
    style = f"\n{(folder / 'page.css').read_text('utf-8')}"
    script = f"\n{_joined({name: _module(folder, name) for name in modules})}"
    return BEGINNING + PAGE.format(
        policy=content_policy(style, script, *rules),
        title=escape(visible(title[:80], one_line=True)),
        style=style,
        script=script,
        data=_in_script({key: data[key] for key in data if key != "values"}),
        values="\n".join(_value_scripts(data["values"])),
    )


def is_page(text: str) -> bool:
    """Return whether a text is a page of promptdsl."""
    return text.startswith(BEGINNING)


def _module(folder: Path, name: str) -> str:
    return (folder / "js" / f"{name}.js").read_text("utf-8")


def _joined(modules: Mapping[str, str]) -> str:
    """Return modules as one script: each becomes a function that returns what it exports."""
    return '"use strict";\n' + "\n".join(
        f"const {name}_js = (() => {{\n{_as_function(text)}}})();" for name, text in modules.items()
    )


def _as_function(text: str) -> str:
    """Return a module as the body of a function that returns an object with its exports."""
    exports = ", ".join(_EXPORT.findall(text))
    body = _IMPORT.sub(r"const {\1} = \2_js;", _EXPORT.sub(_without_export, text))
    return f"{body}return {{ {exports} }};\n"


def _without_export(match: re.Match[str]) -> str:
    return match[0].removeprefix("export ")


def _value_scripts(values: Sequence[object]) -> Iterator[str]:
    """Yield scripts with the values. Each is small, so that the page parses only what it needs."""
    for first_index, texts in _batches(_json(shared_value) for shared_value in values):
        text = _escaped(f"[{','.join(texts)}]")
        attributes = f'type="application/json" class="values" data-first="{first_index}"'
        yield f"<script {attributes}>{text}</script>"


def _batches(texts: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield lists of texts, each with the index of its first text.

    The texts of a list together have at least ``MIN_SCRIPT`` characters; the last list may be
    shorter.
    """
    first_index, batch, size = 0, list[str](), 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= MIN_SCRIPT:
            yield first_index, batch
            first_index, batch, size = first_index + len(batch), [], 0
    if batch:
        yield first_index, batch


def _in_script(data: object) -> str:
    return _escaped(_json(data))


def _json(data: object) -> str:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    # UTF-8 cannot write half of a surrogate pair, so then all characters are escaped.
    return text if is_valid_unicode(text) else json.dumps(data, separators=(",", ":"))


def _escaped(text: str) -> str:
    """Return JSON in which HTML has no tag, and no end of the script."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
