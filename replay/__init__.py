"""Speaks: session graphs in, requests to an inference server and a run out."""
