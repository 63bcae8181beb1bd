"""An application whose module cannot be imported, as after a bad deployment."""

raise RuntimeError("the configuration file is missing")
