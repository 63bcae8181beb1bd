"""The applications that ship with Penstock. Each owns its tables, its tasks and its words; none knows the others."""
