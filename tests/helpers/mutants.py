"""Files with something changed: characters, lines, numbers, or the tree of values."""

from __future__ import annotations

import copy
import json
import re

import numpy as np

from limber.io.yaml_tree import parse

NUMBERS = [
    *(
        "0",
        "-1",
        "1e308",
        "-1e308",
        "1e400",
        "1e-320",
        ".nan",
        ".inf",
        "-.inf",
        "9" * 400,
        "9" * 5000,
    ),
    *("010", "0x1F", "1_000", "1:30", "2024-01-01", "true", "yes", "null", "~", '"5"', "1e9", "99"),
    *(
        "3.5",
        "[]",
        "{}",
        "[1, 2, 3]",
        "&a 1",
        "*a",
        "!!int 3",
        "!!python/name:os.system",
        "é",
        "日本",
        "''",
    ),
]
VALUES = [
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        3,
        1e308,
        -1e-308,
        1e-30,
        float("nan"),
        float("inf"),
        10**400,
        2.5,
    ),
    *(
        "",
        "x",
        "tip",
        "world",
        "free",
        "fixed",
        "../../etc/passwd",
        "/dev/zero",
        "no.npz",
        "\u0000",
    ),
    *(
        "日本",
        "a" * 3000,
        [],
        {},
        [[]],
        [1, 2, 3],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        {"a": 1},
        [None],
    ),
]
WORDS = [
    "beam",
    "rigid",
    "nodes",
    "joint",
    "to",
    "at",
    "mass",
    "limber",
    "bodies",
    "dh",
    "urdf",
    "x",
]


def choose(rng, items):
    return items[int(rng.integers(len(items)))]


def of_text(rng, text: str) -> bytes:
    """A few changes of the text."""
    for _ in range(int(rng.integers(1, 3))):
        kind = int(rng.integers(8))
        i = int(rng.integers(len(text))) if text else 0
        if kind == 0:  # a character less
            text = text[:i] + text[i + 1 :]
        elif kind == 1:  # a character more
            text = (
                text[:i]
                + choose(rng, list("{}[]:,-&*!|>%@`'\"#?\t\n 0\x00\u2028\ufeff\x85é"))
                + text[i:]
            )
        elif kind == 2:  # lines exchanged, dropped or repeated
            lines = text.splitlines(keepends=True)
            if lines:
                a, b = (int(rng.integers(len(lines))) for _ in range(2))
                lines[a : a + 1] = choose(rng, [[], [lines[a], lines[b]], [lines[b]]])
                text = "".join(lines)
        elif kind in (3, 4):  # another number
            found = list(re.finditer(r"(?<![\w.])-?\d[\w.]*", text))
            if found:
                m = choose(rng, found)
                text = text[: m.start()] + choose(rng, NUMBERS) + text[m.end() :]
        elif kind == 5:  # the end is missing
            text = text[:i]
        elif kind == 6:  # deep
            deep = choose(rng, ["[", "{a: ", "- ", "? ", "&a [*a, "]) * int(rng.integers(1, 3000))
            text = text[:i] + deep + text[i:]
        else:  # another word
            found = list(re.finditer(r"[A-Za-z_]\w+", text))
            if found:
                m = choose(rng, found)
                word = choose(
                    rng, [choose(rng, found)[0], choose(rng, WORDS), m[0][:-1], m[0] + "s"]
                )
                text = text[: m.start()] + word + text[m.end() :]
    data = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.05:
        at = int(rng.integers(len(data) + 1))
        data = data[:at] + bytes(rng.integers(0, 256, 8, dtype=np.uint8)) + data[at:]
    return data


def places(tree, path=()):
    """Paths of all values."""
    yield path
    items = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    for key, value in items:
        yield from places(value, (*path, key))


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def of_tree(rng, text: str) -> bytes:
    """A few changes of the values, written as JSON, which is YAML."""
    tree = parse(text).plain()
    for _ in range(int(rng.integers(1, 3))):
        paths = [p for p in places(tree) if p]
        if not paths:
            break
        path = choose(rng, paths)
        parent, key = at(tree, path[:-1]), path[-1]
        kind = int(rng.choice([0, 1, 2, 3, 4, 5, 5, 5]))
        if kind == 0:
            del parent[key]
        elif kind in (1, 2):
            parent[key] = copy.deepcopy(choose(rng, VALUES))
        elif kind == 3:
            parent[key] = copy.deepcopy(at(tree, choose(rng, paths)))
        elif kind == 4 and isinstance(parent, dict):
            parent[choose(rng, [*WORDS, "", "日本", "true", "1", str(key)[:-1]])] = parent.pop(key)
        elif kind == 5 and isinstance(parent[key], (int, float)):
            parent[key] = float(parent[key]) * float(
                rng.choice([-1, 0, 1e-9, 1e9, 0.5, 1e200, 1e-200])
            )
    written = json.dumps(
        tree, ensure_ascii=bool(rng.integers(2)), indent=int(rng.integers(3)) or None
    )
    return (
        written.replace("NaN", ".nan").replace("Infinity", ".inf").encode("utf-8", "surrogatepass")
    )
