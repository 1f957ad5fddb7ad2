"""Mappings with known keys in files, and the messages of their errors."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from limber.checks import did_you_mean
from limber.errors import FileError
from limber.io.document import Where, dotted
from limber.io.fields import named, problem

S = TypeVar("S", bound="Section")
#: The number of errors that a message lists; further ones are only counted.
LISTED = 8


class Section(BaseModel):
    """The base class of all sections: unknown keys are rejected, and nothing is converted silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)
    #: Exactly one of these keys must be given.
    one_of: ClassVar[tuple[str, ...]] = ()
    #: The short forms, described for messages.
    short: ClassVar[str] = ""

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """Expand a short form to a mapping; sections with short forms override this."""
        return data

    @classmethod
    def key_names(cls) -> list[str]:
        """The keys of this section as files write them."""
        return [f.alias or name for name, f in cls.model_fields.items()]

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        data = cls.shorthand(data)
        known = cls.key_names()
        if not isinstance(data, dict):
            either = f"{cls.short}, or " if cls.short else ""
            raise problem(
                f"must be {either}a mapping with keys of {', '.join(known)}; got {named(data)}."
            )
        for key in data:
            if key not in known:
                raise problem(f"is not a known key. {did_you_mean(key, known)}", key)
        if cls.one_of:
            given = [key for key in cls.one_of if key in data]
            if len(given) != 1:
                got = f"got {' and '.join(given)}" if given else "got none"
                raise problem(f"needs one of {', '.join(cls.one_of)}; {got}.")
        return data


def validated(section: type[S], data: Any, where: Where, arrays: str | None = None) -> S:
    """Check `data`, found at `where`, and return it as a section; one FileError names everything that is wrong.

    arrays : what the names of arrays start with, for data of an .npz that `where` names; its messages name the arrays.
    """
    try:
        return section.model_validate(data)
    except ValidationError as caught:
        errors = [_placed(error, where, arrays) for error in caught.errors(include_url=False)]
    first = errors[0]
    lines = [str(error) for error in errors[:LISTED]]
    if len(errors) > LISTED:
        lines.append(f"... and {len(errors) - LISTED} more")
    raise FileError("\n".join(lines), first.file, first.line, first.column, first.key)


def _placed(error: Any, where: Where, arrays: str | None) -> FileError:
    """One error of pydantic at its place in the file."""
    path, text = explained(error)
    if arrays is None:
        return where.error(text, *path)
    return where.error(f"{arrays}{'/'.join(map(str, path))}: {text}")


def explained(error: Any) -> tuple[list[Any], str]:
    """Where in the data an error of pydantic is, and what it says."""
    path = list(error["loc"])
    context = error.get("ctx", {})
    if error["type"] == "missing":
        *path, key = path
        return path, f"{str(key)!r} is missing."
    if error["type"] == "limber":
        return [*path, *context["at"]], context["text"]
    if error["type"] in ("dict_type", "list_type", "tuple_type"):
        kind = "a mapping" if error["type"] == "dict_type" else "a list"
        return path, f"must be {kind}, got {named(error['input'])}."
    if error["type"].startswith("bool"):
        return path, f"must be true or false, got {named(error['input'])}."
    return path, f"{error['msg']} ({dotted(path)})."
