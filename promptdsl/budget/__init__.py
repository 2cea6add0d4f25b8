"""A budget: which parts of a prompt are dropped, in which order, and the rest that is sent.

Read ``fit`` first, then ``units``, ``plan`` and ``dropped``. Recorded conversations have further
files: ``histories`` has the points where they are cut, ``tool_results`` their results that are cut
or cleared, ``edited_history`` the notes of these edits, and ``recorded`` applies them.
"""
