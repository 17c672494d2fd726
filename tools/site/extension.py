"""What `mkdocstrings` reads docstrings with: an extension of the library that reads the source, named in mkdocs.yml."""

from typing import Any

import griffe

from tools.site.docstrings import write_docstring


class Docstrings(griffe.Extension):
    """Rewrites every docstring that is read."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called once for each object."""
        if obj.docstring:
            obj.docstring.value = write_docstring(obj.docstring.value, obj.module.path)
