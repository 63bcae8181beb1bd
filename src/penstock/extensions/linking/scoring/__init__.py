"""From a record and what a source knows to a score that explains itself. Pure, without I/O."""
