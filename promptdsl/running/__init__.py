"""Running the functions of tools that a model called: ``run_calls`` and ``arun_calls``.

Read ``run_calls`` first. It takes the tools of ``tools``, which checks the arguments of a call. For
each call it runs the function and makes the message with its result.
"""
