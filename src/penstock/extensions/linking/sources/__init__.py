"""Where candidates come from: Wikidata, or any reconciliation service."""
