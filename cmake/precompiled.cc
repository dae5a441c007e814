// Nothing: the target needs a file to have its headers compiled for.
