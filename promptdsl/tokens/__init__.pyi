# Written by python -m tests.stubs, from the table of names in __init__.py.

from promptdsl.tokens.count import Count as Count
from promptdsl.tokens.count import TokenCounter as TokenCounter
from promptdsl.tokens.count import Tokens as Tokens
from promptdsl.tokens.counters import counter as counter
from promptdsl.tokens.counters import tokens_for as tokens_for
from promptdsl.tokens.cut import fitting_prefix as fitting_prefix
from promptdsl.tokens.encodings import download as download
from promptdsl.tokens.splitting import split_text as split_text
