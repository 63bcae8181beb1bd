"""Where vectors come from: the model inside the package, an endpoint, or a model on this machine."""
