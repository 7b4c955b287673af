"""Shows captures, corpora and runs: one HTML file."""
