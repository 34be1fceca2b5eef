"""The command line: ``linnet COMMAND …``. Errors a user can mend go to stderr in one sentence, with exit code 2."""

from linnet.cli.main import main

__all__ = ["main"]
