# Written by python -m tests.stubs, from the table of names in __init__.py.

from promptdsl.batch.cells import Parameters as Parameters
from promptdsl.batch.engine import Pools as Pools
from promptdsl.batch.engine import ProcessPool as ProcessPool
from promptdsl.batch.engine import render_rows as render_rows
from promptdsl.batch.job import Job as Job
from promptdsl.batch.job import count_rows as count_rows
from promptdsl.batch.job import write_batch as write_batch
from promptdsl.batch.problem import Problem as Problem
from promptdsl.batch.problem import is_installed as is_installed
from promptdsl.batch.problem import user_frames as user_frames
from promptdsl.batch.ray_pool import RayPool as RayPool
from promptdsl.batch.renderer import RowRenderer as RowRenderer
from promptdsl.batch.renderer import RowResult as RowResult
from promptdsl.batch.renderer import json_line as json_line
from promptdsl.batch.renderer import rendered_prompt as rendered_prompt
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
