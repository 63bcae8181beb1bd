"""The models that prompts are run on."""
