"""Playing a cluster: workload logs, a small scheduler, and the conversation of both with a provisioner."""
