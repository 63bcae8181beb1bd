"""Names that the parts of the application share."""

PIPELINE = "catalogue"
