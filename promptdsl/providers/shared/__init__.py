"""What the adapters share: the state of a request while it is written, and the checks of reading.

Read ``request.py`` first, then ``blocks.py``. For writing, ``two_sided.py`` and ``openai_parts.py``
put messages into the order that a provider takes; for reading there are ``reading.py`` and, for
streams, ``streamed.py``.
"""
