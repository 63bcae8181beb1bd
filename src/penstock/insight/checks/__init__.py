"""What the doctor looks at: ``server`` for PostgreSQL itself, ``fleet`` for Penstock's own tables."""
