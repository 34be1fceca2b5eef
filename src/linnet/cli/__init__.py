"""The command line: ``linnet COMMAND …``. Errors a user can mend go to stderr in one sentence, with exit code 2."""

from __future__ import annotations

import io
import signal
import sys
from typing import Any, NoReturn

from linnet.cli.terminal import stop

__all__ = ["main"]

INTERRUPTED, TERMINATED = 130, 143
RESUMING = ("train", "tune", "reproduce")
MESSAGE = "linnet: interrupted. Output files are complete or absent; standard output is incomplete."
RESUME = (
    "linnet: interrupted. Run the same command to resume: finished parts are kept, the rest restarts at its last "
    "checkpoint."
)


def main() -> None:
    """Run the command line; the console script's entry point."""
    signal.signal(signal.SIGTERM, _terminate)
    if sys.stderr is None:  # closed by whoever started us
        sys.stderr = io.StringIO()
    try:
        # imported here, so that Ctrl-C in the first moments is answered like any other
        from linnet.cli.main import run  # noqa: PLC0415

        run()
    except KeyboardInterrupt:
        stop(_message(), INTERRUPTED)
    except MemoryError as error:
        what = f" ({error})" if str(error) else ""
        stop(f"linnet: error: not enough memory{what}: provide more, or use shorter texts and smaller files", 2)
    except SystemExit as ended:
        if ended.code in (INTERRUPTED, TERMINATED):  # the first is what Typer makes of Ctrl-C
            stop(_message(), ended.code)
        raise


def _message() -> str:
    return RESUME if sys.argv[1:2] and sys.argv[1] in RESUMING else MESSAGE


def _terminate(_number: int, _frame: Any) -> NoReturn:
    """Turn SIGTERM into an ordinary exit, so that half-written files are cleared away."""
    sys.exit(TERMINATED)
