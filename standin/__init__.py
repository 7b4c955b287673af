"""Plays the outside world: a model API, an inference engine, scripted agents."""
