"""The graph that agentx-harness 1.0.12 builds from a WEKA trace, by its rules, for comparison with its numbers."""
