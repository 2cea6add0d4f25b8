"""Running the functions of tools that a model called: ``run_calls`` and ``arun_calls``."""
