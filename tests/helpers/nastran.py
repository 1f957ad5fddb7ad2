"""Printed outputs of Nastran."""

import numpy as np


def eigenvalues(path, title):
    """The last table of eigenvalues with a title in a printed output of Nastran."""
    lines = path.read_text("latin-1").splitlines()
    start = max(i for i, line in enumerate(lines) if title in line and "E I G E N" in lines[i - 1])
    values = []
    for line in lines[start + 3 :]:
        words = line.split()
        if len(words) != 7:
            break
        values.append(float(words[2]))
    return np.array(values)
