"""The one error of this package."""


class GresConfigError(ValueError):
    """An inventory that no Slurm configuration can express, with the reason."""
