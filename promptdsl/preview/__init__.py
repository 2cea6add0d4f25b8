"""The live preview: a page that shows a prompt again after each save of its code.

Read ``server``, ``session``, ``keepers``, ``nursery`` and ``child`` in this order. Only ``child``
runs code of users. It runs in another process: the *child*. On Linux a *nursery*, a process that
has loaded promptdsl already, forks the child. A *keeper* is the part of the server that starts and
ends the child. ``frames`` has the messages between the processes. ``files`` watches the files of a
prompt, and ``access`` refuses requests of others. ``entry`` is the program of the other processes.
"""

TYPE_CHECKING = not __name__  # False, but not to editors that run no code: they read these imports
if TYPE_CHECKING:  # Written by python -m tests.public_names, from the table below.
    from promptdsl.preview.access import check_packages as check_packages
    from promptdsl.preview.child import LoadedPrompts as LoadedPrompts
    from promptdsl.preview.entry import run_process as run_process
    from promptdsl.preview.files import project_folder as project_folder
    from promptdsl.preview.keepers import can_fork as can_fork
    from promptdsl.preview.server import listening_socket as listening_socket
    from promptdsl.preview.server import open_browser as open_browser
    from promptdsl.preview.server import serve as serve
    from promptdsl.preview.session import PreviewJob as PreviewJob
    from promptdsl.preview.session import tunnel_command as tunnel_command
else:
    from promptdsl.foundation.lazy_names import lazy_names

    __all__, __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "access": "check_packages",
            "child": "LoadedPrompts",
            "entry": "run_process",
            "files": "project_folder",
            "keepers": "can_fork",
            "server": "listening_socket open_browser serve",
            "session": "PreviewJob tunnel_command",
        },
    )
