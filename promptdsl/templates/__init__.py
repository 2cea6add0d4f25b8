"""Jinja templates: where they are, and their text as pieces of author text and values.

Jinja is loaded with the first template that is rendered (``templates.render``).
"""

from promptdsl.templates.folders import register_templates
from promptdsl.templates.pieces import Inserted, Piece
from promptdsl.templates.source import TemplateSource, check_inputs
from promptdsl.templates.variables import check_variables

__all__ = [
    "Inserted",
    "Piece",
    "TemplateSource",
    "check_inputs",
    "check_variables",
    "register_templates",
]
