"""Connects a session's requests: streams, spawns, joins, asides and retries, each edge with its evidence."""
