"""One module per command: read the arguments, call one room, print."""
