"""The commands: read arguments, call the app, choose the exit code; no logic."""
