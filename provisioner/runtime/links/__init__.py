"""Links: one file for each keeper of facts, all under the contract in link.py."""
