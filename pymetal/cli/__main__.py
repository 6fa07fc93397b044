"""`python -m pymetal.cli`."""

import sys

from pymetal.cli import main

sys.exit(main())
