"""The history of reconciles: kept in SQL by a recorder, read through an aggregated API."""
