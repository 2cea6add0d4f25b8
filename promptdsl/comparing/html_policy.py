"""The policy of a page that loads nothing: a browser runs only its own style and script."""

from base64 import b64encode
from hashlib import sha256
from html import escape


def content_policy(style: str, script: str, *more: str) -> str:
    """Return the Content-Security-Policy of a page, for an attribute; ``more`` are further rules.

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
        *more,
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
    )
    return escape("; ".join(rules))
