"""Turns an existing slurm.conf and gres.conf into an inventory, and says what it cannot express."""

from gres_config.adopt.cluster import Adoption, adopt_cluster

__all__ = ["Adoption", "adopt_cluster"]
