"""Where a benchmark's tables come from: a local copy, the hub, or the built-in sample."""
