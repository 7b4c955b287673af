"""Start the command: answer `--version` at once, refuse foreign rooms, turn errors into one line and an exit code.

Exit codes: 0 done; 1 bad input or failed work; 2 wrong usage; 3 done in part; 130 interrupted.
"""

from __future__ import annotations

import os
import sys

from agentreel import __version__


def main(argv: list[str] | None = None) -> None:
    """Run one command and exit; never shows a traceback unless `--debug` was given."""
    args = sys.argv[1:] if argv is None else argv
    if args == ["--version"]:  # before any heavy import
        print(f"agentreel {__version__}")
        return
    # Nothing here multiplies matrices, and numpy's threads for it spin for a tenth of a second at every start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from agentreel.rooms import foreign_rooms

    complaint = foreign_rooms()
    if complaint:
        print(f"error: {complaint}", file=sys.stderr)
        sys.exit(1)
    sys.exit(_run(args))


def _run(args: list[str]) -> int:
    import click

    from agentreel.cli import cli
    from corpus.errors import AgentreelError

    debug = "--debug" in args
    try:
        result = cli.main([a for a in args if a != "--debug"], prog_name="agentreel", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        error.show()
        return 2
    except (KeyboardInterrupt, click.Abort):
        print("interrupted; what was done is on disk", file=sys.stderr)
        return 130
    except AgentreelError as error:
        if debug:
            raise
        return _complain(str(error))
    except OSError as error:
        if debug:
            raise
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except Exception as error:
        if debug:
            raise
        return _complain(
            f"{type(error).__name__}: {error}; this is a bug of agentreel, run again with --debug to see where"
        )
    return result if isinstance(result, int) else 0


def _complain(message: str) -> int:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    return 1


if __name__ == "__main__":
    main()
