"""The dead-letter sink: keeps, in its log, what failed for good."""
