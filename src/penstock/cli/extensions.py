"""What every worker and every service carries beside the application it was given, by name: nothing is imported."""

# Served where no application is named.
BUILT_IN = "penstock.cli.applications:app"

# Functions that declare further tasks in the application: here, those of the service itself.
EXTENSIONS = (
    "penstock.intake.importing:install",
    "penstock.intake.sources.scan:install",
    "penstock.engine.selection_actions:install",
)
