"""What may stand in an address: anything else is a 404 before a view or a query sees it."""

from datetime import date


class CodeConverter:
    """A project's or offering's code."""

    regex = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class KeyConverter:
    """A row's number, small enough for every database."""

    regex = r"[1-9][0-9]{0,17}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int | str) -> str:
        return str(value)


class MonthConverter:
    """A month as YYYY-MM; its first day in Python."""

    regex = r"20[0-9]{2}-(?:0[1-9]|1[0-2])"

    def to_python(self, value: str) -> date:
        return date.fromisoformat(f"{value}-01")

    def to_url(self, value: date) -> str:
        return f"{value:%Y-%m}"
