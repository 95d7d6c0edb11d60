"""Alembic's scripts; `functions.history.migration` runs them."""
