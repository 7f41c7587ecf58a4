"""Changing MIG layouts on a live cluster: a plan of steps per node, and what carries it out."""
