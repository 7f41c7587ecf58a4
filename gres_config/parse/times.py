"""Reads Slurm's times: "60", "1:30:00", "2-12", UNLIMITED."""

import re

_TIME = re.compile(
    r"(?:(?P<days>\d{1,6})-(?P<hours>\d{1,6})(?::(?P<minutes>\d{1,6})(?::(?P<seconds>\d{1,6}))?)?)"
    r"|(?P<first>\d{1,8})(?::(?P<second>\d{1,6}))?(?::(?P<third>\d{1,6}))?"
)
UNLIMITED = -1


def parse_minutes(text: str) -> int | None:
    """Return whole minutes, seconds rounded up as Slurm does; None where it is no time.

    UNLIMITED, INFINITE and -1 are UNLIMITED (time_str2mins in src/common/parse_time.c).
    """
    if text.upper() in ("UNLIMITED", "INFINITE", "-1"):
        return UNLIMITED
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    if match["days"]:
        hours = int(match["days"]) * 24 + int(match["hours"])
        seconds = hours * 3600 + int(match["minutes"] or 0) * 60 + int(match["seconds"] or 0)
    elif match["third"]:
        seconds = int(match["first"]) * 3600 + int(match["second"]) * 60 + int(match["third"])
    else:
        seconds = int(match["first"]) * 60 + int(match["second"] or 0)
    return -(-seconds // 60)
