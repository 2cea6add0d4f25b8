"""Prompts over the rows of a table: files of requests for batch services, and their results."""

from promptdsl.foundation.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    globals(),
    {
        "cells": "Parameters",
        "engine": "Pools ProcessPool render_rows",
        "job": "Job count_rows write_batch",
        "problem": "Problem is_installed user_frames",
        "ray_pool": "RayPool",
        "renderer": "RowRenderer RowResult json_line rendered_prompt",
        "results": "WrittenResults read_results write_results",
        "rows": "TableRow RowReader",
        "service": "Service service_of services",
        "writer": "BatchWriter CountingWriter read_manifest",
    },
)
