"""Language without a network: sentences, words, and embeddings of texts. Knows nothing of tasks or tables."""
