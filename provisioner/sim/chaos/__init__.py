"""Histories full of faults: the real engine, core and policy in virtual time against clouds and a cluster in memory."""
