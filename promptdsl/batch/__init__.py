"""Prompts for the rows of a table: request files for batch services, and their results.

Read ``rows``, ``service``, ``renderer``, ``writer`` and ``job`` in this order; then ``engine``,
which renders rows in many processes, and ``results``, which reads the answers. ``inputs`` makes the
arguments of a prompt function, from cells or from named cases.
"""

TYPE_CHECKING = not __name__  # False, but not to editors that run no code: they read these imports
if TYPE_CHECKING:  # Written by python -m tests.public_names, from the table below.
    from promptdsl.batch.engine import Pools as Pools
    from promptdsl.batch.engine import ProcessPool as ProcessPool
    from promptdsl.batch.engine import RayPool as RayPool
    from promptdsl.batch.engine import render_rows as render_rows
    from promptdsl.batch.inputs import InputsSource as InputsSource
    from promptdsl.batch.inputs import NamedInputs as NamedInputs
    from promptdsl.batch.inputs import Parameters as Parameters
    from promptdsl.batch.inputs import inputs_of_name as inputs_of_name
    from promptdsl.batch.inputs import named_inputs as named_inputs
    from promptdsl.batch.job import Job as Job
    from promptdsl.batch.job import count_rows as count_rows
    from promptdsl.batch.job import write_batch as write_batch
    from promptdsl.batch.renderer import Problem as Problem
    from promptdsl.batch.renderer import RowRenderer as RowRenderer
    from promptdsl.batch.renderer import RowResult as RowResult
    from promptdsl.batch.renderer import is_installed as is_installed
    from promptdsl.batch.renderer import json_line as json_line
    from promptdsl.batch.renderer import rendered_prompt as rendered_prompt
    from promptdsl.batch.renderer import user_frames as user_frames
    from promptdsl.batch.results import WrittenResults as WrittenResults
    from promptdsl.batch.results import read_results as read_results
    from promptdsl.batch.results import write_results as write_results
    from promptdsl.batch.rows import RowReader as RowReader
    from promptdsl.batch.rows import TableRow as TableRow
    from promptdsl.batch.service import Service as Service
    from promptdsl.batch.service import service_of as service_of
    from promptdsl.batch.service import services as services
    from promptdsl.batch.writer import BatchWriter as BatchWriter
    from promptdsl.batch.writer import CountingWriter as CountingWriter
    from promptdsl.batch.writer import read_manifest as read_manifest
else:
    from promptdsl.foundation.lazy_names import lazy_names

    __all__, __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "engine": "Pools ProcessPool RayPool render_rows",
            "inputs": "InputsSource NamedInputs Parameters inputs_of_name named_inputs",
            "job": "Job count_rows write_batch",
            "renderer": (
                "Problem RowRenderer RowResult is_installed json_line rendered_prompt user_frames"
            ),
            "results": "WrittenResults read_results write_results",
            "rows": "RowReader TableRow",
            "service": "Service service_of services",
            "writer": "BatchWriter CountingWriter read_manifest",
        },
    )
