"""Slurm 23.11.

- AutoDetect=nrt (AWS Trainium and Inferentia).
- cgroup.conf no longer has CgroupAutomount and ConstrainKmemSpace.
- `scontrol reconfigure` starts slurmctld and slurmd anew with the new files (release notes), so
  that it takes up another count of GRES.
- From 23.11.5 on a count without a type no longer passes by a limit on the type.
"""

from dataclasses import replace

from gres_config.versions import v23_02

VERSION = replace(
    v23_02.VERSION,
    name="23.11",
    autodetect=v23_02.VERSION.autodetect | {"nrt"},
    shares_beside_mig_from=0,
    reconfigures_gres=True,
)
