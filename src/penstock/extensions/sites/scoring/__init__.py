"""From facts, prompts and answers to scores. Pure: the same input gives the same scores, to the last digit."""
