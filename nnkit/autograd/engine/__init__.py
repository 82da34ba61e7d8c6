"""The engine: nodes, what they save, and the pass that runs them backwards."""
