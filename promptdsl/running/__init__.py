"""Running the functions of tools that a model called: ``run_calls`` and ``arun_calls``.

Read ``run_calls`` first. It takes the tools of ``tools``, and for each call ``calls`` checks its
``arguments``, runs the function and makes the message with its ``results``.
"""
