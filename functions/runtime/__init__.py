"""Everything that touches the world: settings, the Kubernetes API, telemetry, the web."""
