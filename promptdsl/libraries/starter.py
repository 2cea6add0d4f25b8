"""The starter library: five sections for what most prompts need. It comes with promptdsl."""

from promptdsl.libraries.library import Library
from promptdsl.templates.folders import templates_root

starter = Library("starter", templates=templates_root() / "sections")
# A library finds its module in the first frame outside of promptdsl: this one is inside.
starter._set_module(__name__)
