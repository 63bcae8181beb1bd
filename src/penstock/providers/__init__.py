"""What callers of outside endpoints share: circuit, capped answers, no secrets in errors, files that name them."""
