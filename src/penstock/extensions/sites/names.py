"""What the pipeline and its stages are called, in tables, routes and commands."""

PIPELINE = "sites"
READING, FORMING, ASKING = STAGES = ("website-analysis", "prompt-forming", "model-analysis")
