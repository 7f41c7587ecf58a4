"""Turns what pydantic found into problems with a line and a sentence for a person."""

from collections.abc import Iterable
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ErrorType

from gres_config.document import Document
from gres_config.problems import Place, Problem, suggest

# An error that one of our own validators raised brings its sentence with it.
_KINDS_OF_PYDANTIC = frozenset(get_args(ErrorType))
_SENTENCES = {
    "missing": "This key is missing.",
    "string_type": "A text is wanted here.",
    "string_too_short": "This must not be empty.",
    "string_too_long": "Use at most {max_length} characters.",
    "int_parsing": "A whole number is wanted here.",
    "int_parsing_size": "This number is too large.",
    "int_type": "A whole number is wanted here.",
    "greater_than_equal": "This must be at least {ge}.",
    "less_than_equal": "This must be at most {le}.",
    "bool_parsing": "Use true or false.",
    "bool_type": "Use true or false.",
    "date_from_datetime_parsing": "Use a date, 2026-01-31.",
    "date_parsing": "Use a date, 2026-01-31.",
    "date_type": "Use a date, 2026-01-31.",
    "tuple_type": "A list is wanted here: lines that begin with “- ”.",
    "dict_type": "Keys with values are wanted here: lines such as “name: value”.",
    "model_type": "Keys with values are wanted here: lines such as “name: value”.",
}


def list_problems(
    error: ValidationError, document: Document, model: type[BaseModel]
) -> list[Problem]:
    """Return a problem for each error; `model` is the one of the whole document."""
    return [_translate(details, document, model) for details in error.errors()]


def _translate(details: ErrorDetails, document: Document, model: type[BaseModel]) -> Problem:
    place: Place = tuple(details["loc"])
    return Problem(document.find_line(place), place, _get_sentence(details, place, model))


def _get_sentence(details: ErrorDetails, place: Place, model: type[BaseModel]) -> str:
    kind = details["type"]
    context = details.get("ctx", {})
    if kind == "extra_forbidden":
        known = _list_fields(place[:-1], model)
        return f"There is no such key.{suggest(str(place[-1]), known)}"
    if kind == "enum":
        expected = str(context.get("expected", "")).replace("'", "")
        words = expected.replace(" or ", ", ").split(", ")
        return f"Use one of {', '.join(words)}.{suggest(str(details['input']), words)}"
    if kind not in _KINDS_OF_PYDANTIC:
        return details["msg"]
    return _SENTENCES.get(kind, "{msg}.").format(msg=details["msg"], **context)


def _list_fields(place: Place, model: type[BaseModel]) -> Iterable[str]:
    """Return the names of the fields of the model that stands at a place."""
    for part in place:
        if isinstance(part, str) and part in model.model_fields:
            model = _find_model(model.model_fields[part].annotation) or model
    return model.model_fields


def _find_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_find_model, get_args(annotation))), None)
