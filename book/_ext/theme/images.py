"""Images from elsewhere (the Colab badge) give way to their alt text: a page loads nothing else."""

from __future__ import annotations

from docutils import nodes


def replace_remote_images(app, doctree) -> None:
    """Replace images from elsewhere by their alt text."""
    for image in list(doctree.findall(nodes.image)):
        if "://" in image["uri"] and image.get("alt"):
            image.replace_self(nodes.inline("", image["alt"], classes=["badge-link"]))


def setup(app) -> None:
    app.connect("doctree-read", replace_remote_images, priority=400)
