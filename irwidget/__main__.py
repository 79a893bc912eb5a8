"""`python -m irwidget`."""

import sys

from irwidget.cli import main

sys.exit(main())
