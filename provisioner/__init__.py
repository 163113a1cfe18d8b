"""The resource provisioner: buys what a cluster lacks and gives it back, losing nothing that costs money."""
