"""The program tcc, as `tcc` and as `python -m tcc`."""

from __future__ import annotations

import os
import sys

from ._errors import MissingError
from ._program import environment, runnable_path


def main() -> None:
    """Becomes the program: its signals and exit codes are its own."""
    try:
        path = runnable_path()
        os.execve(path, ["tcc", *sys.argv[1:]], environment())
    except MissingError as error:
        print(f"tcc: {error}", file=sys.stderr)
    except OSError as error:
        print(f"tcc: '{path}' cannot be started: {error.strerror}", file=sys.stderr)
    sys.exit(MissingError.code)


if __name__ == "__main__":
    main()
