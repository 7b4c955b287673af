"""Words of the outside world: provider protocols as pure code (no socket, clock or file)."""
