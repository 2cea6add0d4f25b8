"""A page that shows a prompt, as one file: what is sent, what is left out, what a cache serves.

Read ``prompts``, ``data`` and ``html`` in this order; ``bare`` removes the content. The scripts of
the page are in ``js``: read ``app.js`` first.
"""

TYPE_CHECKING = not __name__  # False, but not to editors that run no code: they read these imports
if TYPE_CHECKING:  # Written by python -m tests.public_names, from the table below.
    from promptdsl.page.data import made_page as made_page
    from promptdsl.page.data import page_data as page_data
    from promptdsl.page.data import page_of_rows as page_of_rows
    from promptdsl.page.data import request_rows as request_rows
    from promptdsl.page.html import is_page as is_page
    from promptdsl.page.html import live_page_html as live_page_html
    from promptdsl.page.html import page_html as page_html
    from promptdsl.page.html import write_page as write_page
    from promptdsl.page.prompts import PagePrompt as PagePrompt
    from promptdsl.page.prompts import Shown as Shown
    from promptdsl.page.prompts import error_data as error_data
    from promptdsl.page.prompts import named as named
    from promptdsl.page.prompts import prompts_of_entries as prompts_of_entries
    from promptdsl.page.prompts import prompts_of_inputs as prompts_of_inputs
else:
    from promptdsl.foundation.lazy_names import lazy_names

    __all__, __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "data": "made_page page_data page_of_rows request_rows",
            "html": "is_page live_page_html page_html write_page",
            "prompts": ("PagePrompt Shown error_data named prompts_of_entries prompts_of_inputs"),
        },
    )
