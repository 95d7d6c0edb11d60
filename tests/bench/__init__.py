"""How fast, how many requests, how much memory, what gets lost: ours, and the same beside other operators."""
