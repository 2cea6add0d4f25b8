"""The library: templates, where they are, and what rendering one comes to.

Jinja is imported by this package and by nothing else, and only once a template is rendered.
"""

from promptdsl.library.events import event_text
from promptdsl.library.folders import register_templates, templates_root
from promptdsl.library.pieces import Inserted, Piece
from promptdsl.library.rendering import template_pieces
from promptdsl.library.source import TemplateSource
from promptdsl.library.variables import check_variables

__all__ = [
    "Inserted",
    "Piece",
    "TemplateSource",
    "check_variables",
    "event_text",
    "register_templates",
    "template_pieces",
    "templates_root",
]
