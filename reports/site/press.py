"""Writes the pages of the site into its folder."""

from importlib import resources
from pathlib import Path
from typing import Any

from conformance.render.html.environment import environment, style


class Press:
    """Prints pages into `folder`; `everywhere` is known to every template."""

    def __init__(self, folder: Path, **everywhere: Any) -> None:
        self.folder = folder
        self.everywhere = everywhere
        self.written: list[Path] = []
        self._rooms: set[Path] = set()
        self._environment = environment("reports.site", **everywhere)

    def page(self, name: str, template: str, **values: Any) -> None:
        """Write the page `name` (relative to the site) as it comes, never whole in memory."""
        values["root"] = "../" * name.count("/")
        with self._file(name).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(self._environment.get_template(template).generate(values))

    def text(self, name: str, pieces: Any) -> None:
        """Write a file that is no page."""
        with self._file(name).open("w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)

    def assets(self, *extra: str) -> None:
        """Write the style, with what some pages add to it, and the script."""
        script = resources.files("reports.site").joinpath("assets", "site.js")
        self.text("assets/site.css", [style(), *extra])
        self.text("assets/site.js", [script.read_text(encoding="utf-8")])

    def room(self, name: str) -> Path:
        """Make room for the file `name`, which another writer writes; gives its path."""
        return self._file(name, written=False)

    def _file(self, name: str, written: bool = True) -> Path:
        path = self.folder / name
        if path.parent not in self._rooms:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._rooms.add(path.parent)
        if written:
            self.written.append(path)
        return path
