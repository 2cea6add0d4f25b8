"""The starter library, which comes with promptdsl: five sections that most prompts need."""

from promptdsl.libraries.library import Library
from promptdsl.templates.sources import templates_root

starter = Library("starter", templates=templates_root() / "sections")
# A library finds its module by the first frame outside of promptdsl, but this one is inside.
starter._set_module(__name__)
