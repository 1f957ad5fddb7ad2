"""Models that an SDF file includes from other files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from limber.io.left_out import LeftOut
from limber.io.sdf_values import text
from limber.io.visuals import RESOURCES, found
from limber.io.xml_tree import Element, parse_xml

#: What is read of an <include>.
IN_INCLUDE = {"uri", "name", "pose", "static", "placement_frame"}
#: The file of a folder that says which one has the model, and the model if there is none.
CONFIG, MODEL_FILE = "model.config", "model.sdf"


@dataclass
class Includes:
    """Puts the models of other files in the place of the elements that include them.

    versions : the version of the format of every file that was read.
    """

    left_out: LeftOut
    versions: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def root(self, path: Path, inside: tuple[Path, ...] = ()) -> Element:
        """The root of an SDF file, with everything that it includes."""
        root = parse_xml(path)
        if root.tag != "sdf":
            raise root.error(f"an SDF file starts with <sdf>, got <{root.tag}>.")
        self.versions[path] = _version(root)
        return self._whole(root, (*inside, path))

    def _whole(self, element: Element, inside: tuple[Path, ...]) -> Element:
        if element.tag not in ("sdf", "world", "model"):
            return element
        children: list[Element] = []
        names = {child.attributes.get("name") for child in element.all("model")}
        for child in element.children:
            if child.tag != "include":
                children.append(self._whole(child, inside))
                continue
            for model in self._included(child, inside):
                name = model.get("name")
                if name in names:
                    raise child.error(
                        f"there is a second model {name!r}: give this <include> a <name> of its own."
                    )
                names.add(name)
                children.append(model)
        return replace(element, children=children)

    def _included(self, include: Element, inside: tuple[Path, ...]) -> list[Element]:
        """The model of an include; nothing for a file that has only lights."""
        self.left_out.tags(include, IN_INCLUDE)
        if include.attributes.get("merge", "false") not in ("false", "0"):
            raise include.error('merge="true" is not read: include the model as one of its own.')
        path = self._file(include)
        if path in inside:
            raise include.error(f"{path.name} includes itself.")
        root = self.root(path, inside)
        models = list(root.all("model"))
        if len(models) > 1 or next(root.all("world"), None) is not None:
            raise include.error(
                f"{path} has a world or several models: only one model can be included."
            )
        if not models:
            if next(root.all("light"), None) is not None:
                return []
            raise include.error(f"{path} has no <model>.")
        (model,) = models
        attributes, children = dict(model.attributes), model.children
        if include.one("name") is not None:
            attributes["name"] = text(include, "name")
        if include.one("placement_frame") is not None:
            attributes["placement_frame"] = text(include, "placement_frame")
        for tag in ("pose", "static"):  # those of the include replace those of the model
            own = include.one(tag)
            if own is not None:
                children = [own, *(child for child in children if child.tag != tag)]
        return [replace(model, attributes=attributes, children=children)]

    def _file(self, include: Element) -> Path:
        """The SDF file that the address names; it may be that of a folder."""
        uri = text(include, "uri").rstrip("/")
        if re.match(r"https?://", uri):
            raise include.error(
                f"{uri!r} is not on this machine: download the model, and give its folder as <uri>."
            )
        config = found(f"{uri}/{CONFIG}", include.file)
        named = None if config is None else _of_config(config)
        path = named or found(f"{uri}/{MODEL_FILE}", include.file) or found(uri, include.file)
        if path is None:
            places = ", ".join(f"${name}" for name in RESOURCES)
            raise include.error(
                f"there is no model {uri!r} beside this file, in the folders above it, or in those of {places}. Add its folder "
                "there, or remove this <include>."
            )
        return path.resolve()


def _of_config(config: Path) -> Path | None:
    """The file of the newest version that a model.config names."""
    given = [(_version(x), x.text.strip()) for x in parse_xml(config).all("sdf")]
    path = config.parent / max(given)[1] if given else None
    return path if path is not None and path.is_file() else None


def _version(element: Element) -> tuple[int, int]:
    """The version of the format, which says in which frame axes are; one from 1.7 on where none is given."""
    words = element.attributes.get("version", "1.7")
    match = re.fullmatch(r"\s*(\d{1,3})\.(\d{1,3})\s*", words)
    if match is None:
        raise element.error(f"version of <sdf> must be a number such as 1.9, got {words[:60]!r}.")
    return int(match[1]), int(match[2])
