"""The history as an aggregated API: what `kubectl get reconciles` reads."""
