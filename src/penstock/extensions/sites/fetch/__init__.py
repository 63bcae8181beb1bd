"""Reading a stranger's website: politely, and without being led to where we must not go."""
