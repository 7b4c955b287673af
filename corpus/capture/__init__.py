"""The capture store: append-only compressed segments of request and response records."""
