"""Makes a site of the repository's pages, as hooks of mkdocs: docs/README.md is the table of
contents, the pages of the repository's root come along, and a link to anything else is plain code."""

import pathlib
import posixpath
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONTENTS = "README.md"  # in docs/
ROOT_PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md",
              "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s:]+)(#[^)\s]*)?\)")
ROW = re.compile(r"^\| \[[^\]]+\]\(([^)]+)\)", re.M)


def groups():
    """The headings of the table of contents, and the pages below each."""
    _, *parts = re.split(r"^## (.+)$", (ROOT / "docs" / CONTENTS).read_text(), flags=re.M)
    return [(title, ROW.findall(text)) for title, text in zip(parts[::2], parts[1::2])]


def on_config(config):
    """Makes the navigation."""
    rest = [page for page in ROOT_PAGES.values() if page != "index.md"]
    config.nav = ["index.md", *({title: pages} for title, pages in groups() if pages),
                  {"The project": rest}]
    return config


def on_files(files, config):
    """Takes the pages of the root in, and the table of contents out."""
    files.remove(files.get_file_from_path(CONTENTS))
    for source, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    return files


def source_of(page):
    """The path of a page's text from the repository's root."""
    names = {page: source for source, page in ROOT_PAGES.items()}
    return names.get(page, f"docs/{page}")


def page_of(path):
    """The page that shows a file of the repository; None if no page does."""
    if path in ROOT_PAGES:
        return ROOT_PAGES[path]
    if path.rstrip("/") in ("docs", f"docs/{CONTENTS}"):
        return "index.md"
    return path[len("docs/"):] if path.startswith("docs/") and (ROOT / path).is_file() else None


def on_page_markdown(markdown, page, config, files):
    """Leads each link to the page that shows its target; one without a page becomes code."""
    here = page.file.src_uri
    folder = posixpath.dirname(source_of(here))

    def led(link):
        text, target, anchor = link.group(1), link.group(2), link.group(3) or ""
        path = posixpath.normpath(posixpath.join(folder, target))
        shown = page_of(path)
        if shown is None and not (ROOT / path).exists():
            return link.group(0)
        if shown is None:
            return f"{text} (`{path}`)" if text.strip("`") != path else f"`{path}`"
        return f"[{text}]({posixpath.relpath(shown, posixpath.dirname(here) or '.')}{anchor})"

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)
    return "".join(part if i % 2 else LINK.sub(led, part) for i, part in enumerate(parts))
