"""How links name a heading, so that a page and JupyterLab follow the same one."""


def slug(title: str) -> str:
    """Give what JupyterLab has for a heading: its text with hyphens for blanks, all else kept.

    Pages keep the short ids that Sphinx makes; MyST only looks links up by this. What a browser
    writes in another way in an address, as ² or […], leads nowhere in JupyterLab.
    """
    return title.replace(" ", "-")
