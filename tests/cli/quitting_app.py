"""An application whose module ends the process that imports it."""

import sys

sys.exit(7)
