"""A linter of composed prompts: rules that look at files of Python, templates and renders."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from promptdsl.checking.checker import Checker as Checker
    from promptdsl.checking.checker import CheckReport as CheckReport
    from promptdsl.checking.finding import CheckRule as CheckRule
    from promptdsl.checking.finding import Finding as Finding
    from promptdsl.checking.rules import RULES as RULES
    from promptdsl.checking.settings import CheckSettings as CheckSettings
else:
    from promptdsl.foundation.lazy_names import lazy_names

    __all__, __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "checker": "CheckReport Checker",
            "finding": "CheckRule Finding",
            "rules": "RULES",
            "settings": "CheckSettings",
        },
    )
