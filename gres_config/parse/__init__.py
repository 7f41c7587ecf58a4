"""Reads slurm.conf and gres.conf, as Slurm does, into records that keep their file and line."""
