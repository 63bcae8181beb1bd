"""From an article to its stored vectors."""
