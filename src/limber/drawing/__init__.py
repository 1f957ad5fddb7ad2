"""What pictures of a system are made of, whoever draws them: lines of bodies, places of joints, names, colours."""
