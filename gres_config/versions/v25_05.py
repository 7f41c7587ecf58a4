"""Slurm 25.05: nothing that this package writes differs from 24.11."""

from dataclasses import replace

from gres_config.versions import v24_11

VERSION = replace(v24_11.VERSION, name="25.05")
