"""`python -m irwidget`, and `irwidget`."""

import sys


def run() -> int:
    """Run the command line; 130 also for Ctrl-C while it is still being imported."""
    try:
        from irwidget.cli import main

        return main()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(run())
