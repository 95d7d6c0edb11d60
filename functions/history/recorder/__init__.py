"""The recorder: a CloudEvents function that writes finished reconciles into the history."""
