"""Draw small bar plots as inline SVG, with a text alternative; the page shows the numbers as a table too."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

WIDTH, HEIGHT, GAP = 300, 60, 1  # in units of the picture


def bars(name: str, values: Sequence[float | None]) -> Markup:
    """Return a plot with one bar for each value.

    None leaves a gap. The highest bar is as high as the plot.
    """
    known = [value for value in values if value is not None]
    most = max(known, default=0)
    step = WIDTH / max(len(values), 1)
    drawn = Markup("").join(
        Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
            number * step, HEIGHT - high, step - GAP, high
        )
        for number, value in enumerate(values)
        if value and (high := max(1.0, value / most * HEIGHT))
    )
    said = f"{name}: {len(values)} values from {min(known):,g} to {most:,g}" if known else f"{name}: no data yet"
    return Markup(
        '<svg viewBox="0 0 {} {}" width="{}" height="{}" role="img" aria-label="{}" fill="currentColor">{}'
        '<path d="M0 {}h{}" stroke="currentColor" opacity=".4"/></svg>'
    ).format(WIDTH, HEIGHT + 1, WIDTH, HEIGHT + 1, said, drawn, HEIGHT + 0.5, WIDTH)


def newest(days: Sequence[Mapping[str, float | None]], field: str) -> float | None:
    """Return the newest known value of a field; None without any."""
    return next((value for day in reversed(days) if (value := day[field]) is not None), None)
