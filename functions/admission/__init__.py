"""Two admission webhooks: one injects a log sidecar, one refuses containers that may run as root."""
