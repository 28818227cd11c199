"""The set of values that a production function can return, found by running it.

The parent process uses :mod:`memaudit.target`, :mod:`memaudit.domain.child_process`, :mod:`memaudit.domain.result` and
:mod:`memaudit.domain.against_store`; the other modules run in the child process beside the user's code and
therefore import nothing but the standard library.
"""
