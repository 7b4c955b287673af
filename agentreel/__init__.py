"""The front door: the command and the demo; the only room that imports the other rooms."""

__version__ = "0.1.0"
