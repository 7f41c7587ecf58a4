"""The portal's errors: one root, each with a stable code and a sentence for a person."""

from collections.abc import Mapping


class PortalError(Exception):
    """Root of the errors that a page or an API answers with a 4xx.

    `code` is stable for programs, `status` the HTTP status, the message a sentence for people.
    """

    code = "error"
    status = 400

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class InvalidInput(PortalError):
    """Input that breaks a rule; `fields` maps a field's name ("" for the whole) to sentences."""

    code = "invalid_input"
    status = 400

    def __init__(self, fields: Mapping[str, str], *, code: str | None = None) -> None:
        super().__init__(" ".join(fields.values()), code=code)
        self.fields = dict(fields)


class NotPermitted(PortalError):
    """The person may not do this."""

    code = "not_permitted"
    status = 403


class NotFound(PortalError):
    """There is no such thing, or not for this person."""

    code = "not_found"
    status = 404


class Conflict(PortalError):
    """The thing has changed meanwhile, or the act was already done."""

    code = "conflict"
    status = 409
