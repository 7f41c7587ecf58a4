"""Backends of the gateway; only portal.slurm.factory imports them."""
