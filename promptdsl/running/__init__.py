"""Running the functions of tools that a model called: ``run_calls`` and ``arun_calls``.

Read ``run_calls.py`` first: it runs the function of each call, and makes the message with its
result. ``tools.py`` has the tools that can be run, and checks the arguments of a call.
"""
