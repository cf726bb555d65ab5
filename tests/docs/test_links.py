"""Do the documents point to things that exist, stay short, and speak only of this repository?

Each check is a function that gives back a list of problems; it is tried on made-up Markdown first, then on ours.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINE_LIMITS = {"README.md": 150, "ARCHITECTURE.md": 300}
# In two pieces, so that this file does not trip over itself.
PRIVATE_FOLDERS = ("/" + "work/", "/" + "root/")

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_INLINE_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$", re.MULTILINE)
_HTML_ANCHOR = re.compile(r"""<[^>]+\b(?:id|name)=["']([^"']+)["']""")
_TARGETS = (
    re.compile(
        r"""\]\(\s*<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*)>?(?:\s+["'(][^)]*)?\s*\)"""
    ),  # [text](target "title")
    re.compile(r"^ {0,3}\[[^\]^]+\]:\s*<?([^\s<>]+)", re.MULTILINE),  # [name]: target
    re.compile(r"""<[^>]+\b(?:href|src|srcset)=["']([^"'\s]+)"""),  # <img src="target">
)
_USED_NAME = re.compile(r"\[([^\]\[]+)\]\[([^\]\[]*)\]")  # [text][name]
_DEFINED_NAME = re.compile(r"^ {0,3}\[([^\]^]+)\]:\s*\S", re.MULTILINE)
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_LINE_ANCHOR = re.compile(r"L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?")
_REPOSITORY_PATH = re.compile(r"(?:src|tests|docs|tools|\.ci)/[^\s:]*(?:::?\S*)?")


def without_fences(markdown: str) -> str:
    """The text without comments and fenced code blocks."""
    kept: list[str] = []
    fence = ""
    for line in _COMMENT.sub("", markdown).splitlines():
        mark = _FENCE.match(line)
        if not fence and mark:
            fence = mark.group(1)
        elif fence:
            if mark and mark.group(1).startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        else:
            kept.append(line)
    return "\n".join(kept)


def anchors(markdown: str) -> set[str]:
    """The anchors that GitHub gives to the headings, and those set by hand in HTML."""
    text = without_fences(markdown)
    found = set(_HTML_ANCHOR.findall(text))
    seen: dict[str, int] = {}
    for heading in _HEADING.findall(text):
        shown = re.sub(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found


def targets(markdown: str) -> Iterator[str]:
    """Where the links and images of a document point to, code left out."""
    text = _INLINE_CODE.sub("code", without_fences(markdown))
    for pattern in _TARGETS:
        yield from pattern.findall(text)


def link_problem(document: Path, target: str, root: Path) -> str | None:
    """Why a link of a document leads nowhere, or None. Links to other sites are not followed."""
    if _ELSEWHERE.match(target):
        return None
    path, _, anchor = unquote(target).partition("#")
    if _LINE_ANCHOR.fullmatch(anchor):
        return "points to a line, which moves: point to the file"
    base = root if path.startswith("/") else document.parent
    file = (base / path.lstrip("/")).resolve() if path else document
    if not file.is_relative_to(root.resolve()):
        return "leaves the repository"
    if not file.exists():
        return "there is no such file"
    if not path and not anchor:
        return "is empty"
    return anchor_problem(file, anchor) if anchor else None


def anchor_problem(file: Path, anchor: str) -> str | None:
    if file.suffix != ".md":
        return "has an anchor into a file that is not Markdown"
    return None if anchor in anchors(file.read_text(encoding="utf-8")) else "there is no such heading"


def broken_links(document: Path, root: Path) -> list[str]:
    markdown = document.read_text(encoding="utf-8")
    where = document.relative_to(root)
    problems = ((target, link_problem(document, target, root)) for target in targets(markdown))
    found = [f"{where}: ({target}) {problem}" for target, problem in problems if problem]
    text = _INLINE_CODE.sub("code", without_fences(markdown))
    defined = {name.casefold() for name in _DEFINED_NAME.findall(text)}
    used = (name or shown for shown, name in _USED_NAME.findall(text))
    return found + [f"{where}: [{name}] is not defined" for name in used if name.casefold() not in defined]


def missing_paths(markdown: str, root: Path) -> list[str]:
    """Backticked repository paths that do not exist. A ``*`` must find something; after ``::`` a name of the file."""
    missing = []
    for _, code in _INLINE_CODE.findall(without_fences(markdown)):
        if not _REPOSITORY_PATH.fullmatch(code):
            continue
        path, _, name = code.partition("::")
        found = next(root.glob(path.rstrip("/")), None)
        right_kind = found is not None and (found.is_dir() or not path.endswith("/"))
        if not right_kind or (name and found and name not in found.read_text(encoding="utf-8")):
            missing.append(code)
    return missing


def too_long(root: Path, limits: dict[str, int]) -> list[str]:
    lines = {name: len((root / name).read_text(encoding="utf-8").splitlines()) for name in limits}
    return [f"{name} has {lines[name]} lines, at most {limits[name]}" for name in limits if lines[name] > limits[name]]


def private_paths(files: list[Path]) -> list[str]:
    """Text files with a path that exists on one machine only, as ``file:line``."""
    found = []
    for file in files:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        hits = (number for number, line in enumerate(lines, 1) if any(folder in line for folder in PRIVATE_FOLDERS))
        found += [f"{file}:{number}" for number in hits]
    return found


def tracked_files() -> list[Path]:
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"not a git checkout: {error}")
    files = (ROOT / name for name in listed.stdout.decode().split("\0") if name)
    return [file for file in files if file.is_file()]


# Ours.


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    assert broken_links(document, ROOT) == []


def test_paths_in_the_architecture_exist() -> None:
    assert missing_paths((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), ROOT) == []


def test_documents_stay_short() -> None:
    assert too_long(ROOT, LINE_LIMITS) == []


def test_no_file_names_a_folder_of_one_machine() -> None:
    assert private_paths(tracked_files()) == []


# The checks themselves, on made-up documents.


def test_fenced_code_and_comments_are_left_out() -> None:
    markdown = "a\n```python\n# no heading\n```\nb\n~~~~\n```\n~~~\n~~~~\nc\n<!-- [x](gone.md)\n-->d"
    assert without_fences(markdown) == "a\nb\nc\nd"


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("## How to set up", "how-to-set-up"),
        ("# What's *new*, in 1.0?", "whats-new-in-10"),
        ("### `make test` & co.", "make-test--co"),
        ("## [Papers](PAPERS.md) we follow ##", "papers-we-follow"),
        ("## snake_case", "snake_case"),
        ("## Für alle", "für-alle"),
    ],
)
def test_anchors_follow_the_rules_of_github(heading: str, anchor: str) -> None:
    assert anchors(f"text\n\n{heading}\n\ntext") == {anchor}


def test_equal_headings_are_numbered() -> None:
    assert anchors("# A\n## A\n## A\n<a id='own'></a>") == {"a", "a-1", "a-2", "own"}


def test_all_ways_to_write_a_link_are_found() -> None:
    markdown = (
        '[a](one.md) ![b](two.png "title") [c](<three.md>) [d][ref]\n[ref]: four.md\n'
        '<img src="five.svg"> [![e](six.svg)](seven.md) `[f](no.md)` [g](eight(1).md)\n'
        "```\n[h](no.md)\n```\n"
    )
    names = ["one.md", "two.png", "three.md", "four.md", "five.svg", "six.svg", "seven.md", "eight(1).md"]
    assert sorted(targets(markdown)) == sorted(names)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text("# Guide\n## First steps\n")
    (tmp_path / "code.py").write_text("x = 1\n")
    return tmp_path


@pytest.mark.parametrize(
    "target",
    [
        "docs/guide.md",
        "docs/",
        "docs/guide.md#first-steps",
        "#here",
        "/code.py",
        "https://example.org/#L1",
        "mailto:a@b.c",
    ],
)
def test_a_good_link_passes(repository: Path, target: str) -> None:
    readme = repository / "README.md"
    readme.write_text(f"# Here\n[text]({target})\n")
    assert broken_links(readme, repository) == []


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("gone.md", "no such file"),
        ("docs/guide.md#second-steps", "no such heading"),
        ("#nowhere", "no such heading"),
        ("code.py#L10", "points to a line"),
        ("code.py#L10-L20", "points to a line"),
        ("code.py#x", "not Markdown"),
        ("../outside.md", "leaves the repository"),
        ("", "is empty"),
    ],
)
def test_a_bad_link_is_told(repository: Path, target: str, problem: str) -> None:
    readme = repository / "README.md"
    readme.write_text(f"# Here\n[text]({target})\n")
    (told,) = broken_links(readme, repository)
    assert told.startswith(f"README.md: ({target})")
    assert problem in told


def test_a_name_without_a_definition_is_told(repository: Path) -> None:
    readme = repository / "README.md"
    readme.write_text("[a][Good] [good][] [b][bad]\n\n[good]: code.py\n")
    assert broken_links(readme, repository) == ["README.md: [bad] is not defined"]


def test_links_are_resolved_from_the_folder_of_their_document(repository: Path) -> None:
    guide = repository / "docs" / "guide.md"
    guide.write_text("[up](../code.py) [wrong](code.py)")
    assert broken_links(guide, repository) == ["docs/guide.md: (code.py) there is no such file"]


@pytest.mark.parametrize("code", ["docs/guide.md", "docs/", "docs", "docs/*.md", "docs/guide.md::First", "x/y", "a b"])
def test_a_path_that_exists_passes(repository: Path, code: str) -> None:
    assert missing_paths(f"See `{code}`.", repository) == []


@pytest.mark.parametrize(
    "code",
    ["src/tidings/gone.py", "docs/guide.md/", "docs/*.txt", "docs/guide.md::Last", "docs/guide.md:12", "tests/x"],
)
def test_a_path_that_does_not_exist_is_told(repository: Path, code: str) -> None:
    assert missing_paths(f"See `{code}`.\n\n```\n`src/in/a/fence`\n```", repository) == [code]


def test_one_line_too_many_is_told(tmp_path: Path) -> None:
    (tmp_path / "A.md").write_text("x\n" * 3)
    assert too_long(tmp_path, {"A.md": 3}) == []
    assert too_long(tmp_path, {"A.md": 2}) == ["A.md has 3 lines, at most 2"]


def test_a_folder_of_one_machine_is_told(tmp_path: Path) -> None:
    good, bad, binary = tmp_path / "good.txt", tmp_path / "bad.txt", tmp_path / "binary"
    good.write_text("network/roots\n")
    bad.write_text(f"fine\ncd {PRIVATE_FOLDERS[0]}main\n")
    binary.write_bytes(b"\xff\xfe" + PRIVATE_FOLDERS[1].encode())
    assert private_paths([good, bad, binary]) == [f"{bad}:2"]
