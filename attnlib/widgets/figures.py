"""Still pictures of the book: matrices as labelled cells, and one look for every plot.

Matplotlib is loaded by the functions that draw, so importing this file does not load it. Colours of
dimensions come from `attnlib.dims`; a picture has the same bytes in every run.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..dims import DIMS, role

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from torch import Tensor

INK, PAPER, EDGE = "#1b1d21", "#fdfcf9", "#85888d"
LINES = ("-", "--", ":", "-.")  # curves differ by their line, which survives a grey print
SIGNED = ("#dfa79f", "#f7f5f0", "#8fbfb8")  # below zero, zero, above
BLOCKED, STRIPES = "#ececea", 4


def style() -> None:
    """Give every picture that follows the book's look, as an SVG without date or random ids.

    Example:
        >>> style()
        >>> import matplotlib
        >>> matplotlib.rcParams["svg.hashsalt"]
        'attention'
    """
    import matplotlib

    matplotlib.rcParams.update(
        {
            "svg.hashsalt": "attention",
            "svg.fonttype": "none",  # words stay words: smaller, and they can be selected
            "axes.facecolor": PAPER,
            "figure.facecolor": PAPER,
        }
    )
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("svg", metadata={"Date": None, "Creator": None})


def grid(
    ax: Axes,
    values: Tensor,
    down: str,
    across: str,
    title: str,
    names: Sequence[str] = (),
    asked: Sequence[str] | None = None,
    *,
    limit: float = 2.0,
    digits: int | None = 2,
    blocked: Tensor | None = None,
) -> None:
    """Draw a matrix as cells with their numbers; colour says the sign, hatching a blocked cell.

    Shapes: values (down, across); blocked, of the same shape, is True where nothing is to be read.
        names are the tokens of the rows, asked those of the columns where they are others.
    Units: limit is the value that has the full colour; digits=None leaves the numbers out.

    Example:
        >>> import torch
        >>> from matplotlib.figure import Figure
        >>> ax = Figure().add_subplot()
        >>> grid(ax, torch.tensor([[1.0, -0.5, 0.0], [0.2, 0.0, 2.0]]), "S", "H", "queries")
        >>> [cell.get_text() for cell in ax.texts]
        ['1.00', '−0.50', '0.00', '0.20', '0.00', '2.00']
        >>> ax.get_ylabel(), ax.get_xlabel()
        ('S  2', 'H  3')
    """
    from matplotlib.colors import LinearSegmentedColormap

    # Rounded first: the last bits differ between CPUs, and a picture is to have the same bytes.
    cells = [
        [round(value, 4 if digits is None else digits) for value in row] for row in values.tolist()
    ]
    signed = LinearSegmentedColormap.from_list("signed", SIGNED)
    cut = digits is None  # a large map: one picture of pixels is smaller than a shape for each cell
    edges = "none" if cut and len(cells) > 12 else PAPER  # lines would hide cells that small
    ax.pcolormesh(cells, cmap=signed, vmin=-limit, vmax=limit, edgecolors=edges, rasterized=cut)
    shut = [] if blocked is None else blocked.nonzero().tolist()
    _hatch(ax, shut)
    for i, row in enumerate(cells):
        for j, value in enumerate(row):
            if digits is not None and [i, j] not in shut:
                text = f"{value:.{digits}f}".replace("-", "−")
                ax.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=8)
    ax.set(title=title, aspect="equal")
    ax.invert_yaxis()
    _name_axes(ax, (down, len(cells)), (across, len(cells[0])), names, asked)


def frame(ax: Axes, down: int, across: int, height: int = 1, width: int = 1) -> None:
    """Frame some cells of a grid, the first of them at row `down` and column `across`.

    Example:
        >>> from matplotlib.figure import Figure
        >>> ax = Figure().add_subplot()
        >>> frame(ax, 1, 0, width=5)
        >>> ax.patches[0].get_xy(), ax.patches[0].get_width()
        ((0, 1), 5)
    """
    from matplotlib.patches import Rectangle

    look = {"fill": False, "linewidth": 2, "edgecolor": INK, "clip_on": False}
    ax.add_patch(Rectangle((across, down), width, height, **look))


def plain(ax: Axes) -> None:
    """Leave only the two axes that carry a scale, and a legend without its box if there is one.

    Example:
        >>> from matplotlib.figure import Figure
        >>> ax = Figure().add_subplot()
        >>> _ = ax.plot([0, 1], label="loss")
        >>> plain(ax)
        >>> ax.spines["top"].get_visible(), ax.get_legend().get_frame_on()
        (False, False)
    """
    ax.spines[["top", "right"]].set_visible(False)
    if ax.get_legend_handles_labels()[1]:
        ax.legend(frameon=False)


def _hatch(ax: Axes, cells: list[list[int]]) -> None:
    """Cover cells with diagonals.

    Lines, no hatch of Matplotlib's: that is a pattern in SVG, and Chromium prints each shape that a
    pattern fills as a picture as large as the page.
    """
    from matplotlib.patches import PathPatch, Rectangle
    from matplotlib.path import Path

    if not cells:
        return
    runs: list[list[int]] = []  # row, first column, how many: neighbours share their diagonals
    for i, j in cells:
        if runs and [i, j] == [runs[-1][0], runs[-1][1] + runs[-1][2]]:
            runs[-1][2] += 1
        else:
            runs.append([i, j, 1])
    ends = []
    for i, j, wide in runs:
        ax.add_patch(Rectangle((j, i), wide, 1, facecolor=BLOCKED, linewidth=0))
        for n in range(1, STRIPES * (wide + 1)):
            up = n / STRIPES  # where the diagonal meets the left edge, or what lies below it
            ends.append((j + max(0, up - 1), i + min(1, up)))
            ends.append((j + min(wide, up), i + max(0, up - wide)))
    lines = Path(ends, [Path.MOVETO, Path.LINETO] * (len(ends) // 2))
    ax.add_patch(PathPatch(lines, fill=False, edgecolor=EDGE, linewidth=0.6))


def _name_axes(
    ax: Axes,
    down: tuple[str, int],
    across: tuple[str, int],
    names: Sequence[str],
    asked: Sequence[str] | None,
) -> None:
    """Write each dimension in its colour with its size, and the tokens where there are names."""
    ax.set(xticks=[], yticks=[])
    roles = (", asks", ", is asked") if names else ("", "")
    for label, (dim, size), does in zip(
        (ax.set_ylabel, ax.set_xlabel), (down, across), roles, strict=True
    ):
        label(f"{dim}  {size}{does}", color=DIMS[role(dim)].ink[0], fontweight="bold")
    if names:
        asked = names if asked is None else asked
        ax.set_xticks([j + 0.5 for j in range(len(asked))], asked, rotation=90)
        ax.set_yticks([i + 0.5 for i in range(len(names))], names)
    ax.tick_params(length=0, labelsize=8)
    ax.spines[:].set_visible(False)
