"""Durations in words, for people."""

UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def two_units(seconds: int) -> list[str]:
    """Return a duration in its two largest units: `2 d` and `0 h`; below a minute only `5 s`."""
    place = next((place for place, (_, size) in enumerate(UNITS) if seconds >= size), len(UNITS) - 1)
    parts, left = list[str](), seconds
    for name, size in UNITS[place : place + 2]:
        count, left = divmod(left, size)
        parts.append(f"{count} {name}")
    return parts
