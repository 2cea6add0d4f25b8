"""Templates: where they are, and their text as pieces of author text and values.

Jinja is loaded with the first template that is rendered.
"""

from promptdsl.templates.event_text import event_text
from promptdsl.templates.folders import register_templates, templates_root
from promptdsl.templates.pieces import Inserted, Piece
from promptdsl.templates.render import template_pieces
from promptdsl.templates.source import TemplateSource
from promptdsl.templates.variables import check_variables

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
