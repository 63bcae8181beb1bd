"""What listens to the engine's events: one subscriber logs, one counts."""
