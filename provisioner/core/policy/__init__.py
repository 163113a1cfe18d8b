"""Policy: one question a file, each a pure function over frozen views."""
