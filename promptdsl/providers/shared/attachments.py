"""Attachments: the bytes in an address, and a file's name where a service asks for one."""

from promptdsl.messages.media.source import MediaSource, data_url

_OFFICE = "application/vnd.openxmlformats-officedocument."
_SUFFIXES = {
    "text/plain": "txt",
    "text/markdown": "md",
    "text/csv": "csv",
    "text/html": "html",
    "application/json": "json",
    "application/rtf": "rtf",
    "application/msword": "doc",
    "application/vnd.ms-excel": "xls",
    _OFFICE + "wordprocessingml.document": "docx",
    _OFFICE + "spreadsheetml.sheet": "xlsx",
    _OFFICE + "presentationml.presentation": "pptx",
}


def with_bytes(source: MediaSource) -> MediaSource:
    """Return a source; of a ``data:`` address the bytes in it."""
    return (data_url(source.value) if source.kind == "url" else None) or source


def file_name(title: str | None, media_type: str) -> str:
    """Return a document's title, or a name with the ending of its type.

    A wrong ending is read as another type.
    """
    return title or f"document.{_SUFFIXES.get(media_type, 'pdf')}"
