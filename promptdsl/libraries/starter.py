"""The starter library: five sections for what most prompts need. It comes with promptdsl."""

from promptdsl.libraries.library import Library
from promptdsl.templates.folders import templates_root

starter = Library("starter", templates=templates_root() / "sections")
