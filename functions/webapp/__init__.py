"""The pure kernel: what a WebApp is, what it wants, and what an event about it says. No I/O in here."""
