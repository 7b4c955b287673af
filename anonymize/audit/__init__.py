"""Proves, as far as tests can, that a corpus says nothing that it should not: T1 to T14, one finding each."""
