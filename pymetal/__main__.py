"""`python -m pymetal`."""

import sys

from pymetal.cli import main

sys.exit(main())
