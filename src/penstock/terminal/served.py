"""What every worker and every service carries beside the application it was given, by name: nothing is imported."""

from penstock import extras

# Served where no application is named.
BUILT_IN = "penstock_demo.showcase:app"
# What `penstock up` runs beside it: gives the settings with which it finds the made-up servers.
BESIDE_IT = "penstock_demo.places:served"

# Functions that declare further tasks in the application: here, those of the console.
_CONSOLE = (
    "penstock.console.files.importing:install",
    "penstock.console.files.sources.scan:install",
    "penstock.console.grids.selection_actions:install",
)


def carried() -> tuple[str, ...]:
    return _CONSOLE if extras.installed("console") else ()
