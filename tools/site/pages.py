"""The pages of the site: those that are a file of the repository, and those that are written from what there is."""

import shutil
from pathlib import Path
from typing import Any

from maskedbandit.service.api.operations import write_document
from tools.site.api import write_api, write_package
from tools.site.checkout import AT_THE_ROOT, ROOT, list_documents
from tools.site.citations import link_citations, write_references
from tools.site.command_line import write_command_line
from tools.site.experiments import list_experiments, write_experiment, write_experiments
from tools.site.formulas import set_formulas
from tools.site.gallery import write_gallery
from tools.site.glossary import write_glossary
from tools.site.http_interface import write_http
from tools.site.links import edit_text, rewrite_links
from tools.site.modules import list_modules, list_places, module_file
from tools.site.rooms import write_class, write_index
from tools.site.shelves import SHELVES
from tools.site.tutorials import is_tutorial, offer_file, write_file

WRITTEN = ("gallery.md", "glossary.md", "references.md", "command_line.md", "http_interface.md")  # beside the documents
FOLDERS = {  # a link to them leads to the pictures
    "docs/figures": "gallery.md",
    "docs/figures/page": "gallery.md#pages-of-the-service",
    "docs/figures/page/states": "gallery.md#pages-of-the-service-at-every-stage",
}
FILES = (".md", ".svg", ".png", ".html", ".js", ".css", ".json", ".wasm", ".whl", ".csv")


class Site:
    """All pages, before the site is built of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.documents = list_documents()
        self.modules = list_modules()
        files = [path for path in (ROOT / "docs").rglob("*") if path.suffix in FILES]
        names = [path.relative_to(ROOT).as_posix() for path in files]
        self.pages = AT_THE_ROOT | FOLDERS | {f"docs/{page}": page for page in WRITTEN}
        self.pages |= {name: name.removeprefix("docs/") for name in names}
        self.pages |= {one.file: one.page for one in list_experiments()}
        self.pages |= {module_file(module): page for module, page in list_places().items()}
        tutorials = [self.pages[file] for file in filter(is_tutorial, self.documents)]
        self.nav: dict[str, Any] = {"tutorials/": tutorials}  # what stands for each folder

    def put(self, page: str, text: str, file: str) -> None:
        """Write a page, of which the text links to files as if it were this file of the repository."""
        to = self.folder / page
        to.parent.mkdir(parents=True, exist_ok=True)
        linked = link_citations(rewrite_links(text, file, page, self.pages))
        to.write_text(edit_text(linked, set_formulas))

    def write(self) -> None:
        """Write everything."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for file, page in self.pages.items():
            if file.startswith("docs/") and not page.endswith(".md") and "#" not in page:
                (self.folder / page).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / file, self.folder / page)
        for file, text in self.documents.items():
            self.put(self.pages[file], offer_file(file, text), file)
        self.put("gallery.md", write_gallery(self.documents), "docs/gallery.md")
        self.put("glossary.md", write_glossary(), "docs/glossary.md")
        for one in list_experiments():
            self.put(one.page, write_experiment(one), one.file)
        self.put("experiments/index.md", write_experiments(), "experiments/index.md")
        self.nav["experiments/"] = ["experiments/index.md", *(one.page for one in list_experiments())]
        self.write_written()
        shutil.copyfile(Path(__file__).with_name("site.css"), self.folder / "site.css")

    def write_written(self) -> None:
        """Write what has no links to files of the repository."""
        written = {"references.md": write_references(), "command_line.md": write_command_line()}
        written["http_interface.md"] = write_http()
        (self.folder / "openapi.json").write_bytes(write_document())
        for shelf in SHELVES:
            written[f"{shelf.folder}/index.md"] = write_index(shelf)
            written |= {shelf.page(name): write_class(shelf, name) for name in shelf.room}
            pages = [(heading, [shelf.page(name) for name in names]) for heading, names in shelf.groups()]
            grouped = [each for heading, names in pages for each in ([{heading: names}] if heading else names)]
            self.nav[f"{shelf.folder}/"] = [f"{shelf.folder}/index.md", *grouped]
        written["api/index.md"] = write_api(self.modules)
        written |= {f"api/{name}.md": write_package(name, modules) for name, modules in self.modules.items()}
        self.nav["api/"] = ["api/index.md", *(f"api/{name}.md" for name in self.modules)]
        for page, text in written.items():
            (self.folder / page).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / page).write_text(text)

    def write_tutorials(self, version: Path) -> None:
        """Beside the page of each tutorial its file, which is a notebook to whoever takes it away."""
        for file in filter(is_tutorial, self.documents):
            (version / self.pages[file]).write_text(write_file(file, (ROOT / file).read_text()))
