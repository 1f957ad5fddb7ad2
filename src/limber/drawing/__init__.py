"""The elements of pictures of a system, independent of the renderer: lines of bodies, joints, names, colours."""
