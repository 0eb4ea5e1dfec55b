"""What a person is told when something cannot become a bundle."""


class RefusedError(ValueError):
    """One line: what, where (file, layer, node, line), and what to do. Commands end with code 2."""
