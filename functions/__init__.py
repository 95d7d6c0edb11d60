"""The WebApp operator: a pure kernel, its runtime, and one folder for each deployable."""
