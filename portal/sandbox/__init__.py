"""A real, disposable Slurm cluster on one machine, for demos and tests."""
