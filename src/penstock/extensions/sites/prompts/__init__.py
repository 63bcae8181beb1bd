"""The questions that customers would ask, formed from what is known of a site."""
