"""The gateway to Slurm: a Protocol, frozen values, errors and a factory. No Django."""
