"""What any prompt comes to, in any budget, for any provider."""

from hypothesis import assume
from hypothesis import strategies as st

from promptdsl import Rendered
from tests.budget.fitted import fitted
from tests.budget.trees import rooms, trees
from tests.reports.prompts import PROVIDERS


@st.composite
def requests(draw: st.DrawFn) -> Rendered:
    """Return what a prompt comes to in a budget, for any provider."""
    tree = draw(trees())
    rendered = fitted(tree, draw(rooms(tree)), provider=draw(st.sampled_from(PROVIDERS)))
    assume(rendered is not None)
    return rendered  # type: ignore[return-value]
