"""The guide (`kgeval/guide/*.md`): its pages and sections, the search for a word, and lines that fit the terminal."""

from __future__ import annotations

import functools
import re
import textwrap
from dataclasses import dataclass
from importlib import resources

# Words that the guide does not use, and the words to search in their place.
SYNONYMS = {
    "appendix": "paragraph paper", "bad": "low", "citation": "paper", "cite": "paper", "confidence": "interval",
    "cuda": "nvidia gpu", "direct": "object", "early": "training", "fair": "negatives", "figure": "pictures",
    "figures": "pictures", "gpu": "nvidia gpu", "head": "sides settings", "html": "report page", "interrupted": "stop",
    "leaderboard": "board", "leakage": "leaks", "plot": "pictures", "plots": "pictures", "power": "detectable",
    "resume": "stop", "significance": "better", "significant": "better", "stopping": "loop", "tail": "sides settings",
    "temporal": "time", "tost": "equivalence", "worst": "low",
}  # fmt: skip
# For words that many sections use: the heading of the section that answers. A final s of the words plays no part.
ANSWERS = {
    "by relation": "Where is a model good?", "compare model": "Is A better than B?",
    "compare two model": "Is A better than B?", "mmap": "Millions of entities",
    "negative": "A list of negatives for each triple", "p-value": "Is A better than B?",
    "per relation": "Where is a model good?", "sample": "A part of the test split",
}  # fmt: skip
LITTLE = {  # words that are not searched
    "a", "an", "and", "are", "can", "do", "for", "how", "i", "in", "is", "it", "my", "of", "only", "the", "this", "to",
    "what", "why", "with",
}  # fmt: skip
IN_TITLE, IN_HEADING, IN_OPENING, IN_CODE = 6, 10, 3, 2  # points for a word; each place in the text gives a point
OLD_NAMES = "from-0.1"  # the page of old names
MAX_COUNT = 4  # more places of a word in one section give no further points
MAX_WORDS = 60  # of a query, such as a whole error message


@dataclass(frozen=True)
class Section:
    """A section of a page of the guide.

    Parameters
    ----------
    page : str
        The topic: the name of the file without its ending.
    title : str
        The title of the page.
    heading : str
        The heading of the section; the title for the lines before the first heading.
    text : str
        The section as it stands in the file, with its heading.
    """

    page: str
    title: str
    heading: str
    text: str


def pages() -> dict[str, str]:
    """Return a dict from topic of the guide to the text of its page; the topics are in alphabetical order."""
    files = (resources.files("kgeval") / "guide").iterdir()
    found = {file.name.removesuffix(".md"): file for file in files if file.name.endswith(".md")}
    return {topic: found[topic].read_text(encoding="utf-8").rstrip("\n") for topic in sorted(found)}


@functools.cache
def sections() -> tuple[Section, ...]:
    """Return the sections of all pages."""
    found = []
    for page, text in pages().items():
        title, heading, lines, is_code = text.partition("\n")[0].lstrip("# "), "", list[str](), False
        for line in [*text.split("\n"), "## "]:  # the last line ends the last section
            is_code ^= line.startswith("```")
            if line.startswith("##") and not is_code and lines:
                found.append(Section(page, title, heading or title, "\n".join(lines).strip("\n")))
                heading, lines = line.lstrip("# "), []
            lines.append(line)
    return tuple(found)


def search(query: str) -> list[Section]:
    """Return the sections that fit a query, best first.

    Parameters
    ----------
    query : str
        A word, several words, the heading of a section, or an error message.

    Returns
    -------
    list of Section
        The sections that contain every word of the query; of a longer query, at least two thirds of its words.

    Examples
    --------
    >>> [section.heading for section in search("spreadsheet")][0]
    'Into a paper, a spreadsheet, a tracker'
    >>> search("quux")
    []
    """
    asked = query.lower().split()
    heading = ANSWERS.get(" ".join(asked).removesuffix("s"), query)
    exact = [section for section in sections() if section.heading.lower() == heading.lower()]
    query = " ".join(SYNONYMS.get(word, word) for word in [word for word in asked if word not in LITTLE] or asked)
    words = list(dict.fromkeys(re.findall(r"[^\W_][\w.@-]*[^\W_]|[^\W_]", query)))[:MAX_WORDS]
    if not words:
        return exact
    needed = len(words) if len(words) < 3 else 2 * len(words) / 3
    points: dict[Section, float] = {}
    for section in sections():
        of_word = [_points(word, section) for word in words]
        if sum(map(bool, of_word)) >= needed:
            points[section] = sum(of_word)
    # Stable: equal points in the order of the guide; lists of old names come last.
    ordered = sorted(points, key=lambda section: (section.page == OLD_NAMES, -points[section]))
    return [*exact, *(section for section in ordered if section not in exact)]


def _points(word: str, section: Section) -> float:
    """Return how well a section fits a word; 0 if it does not contain the word, in the singular or the plural."""
    stem = word[:-1] if re.search("[^s]{3}s$", word) else word
    pattern = re.compile(rf"(?<![^\W_]){re.escape(stem)}s?(?![^\W_])", re.IGNORECASE)
    body = section.text.partition("\n")[2]
    opening = body.strip().partition("\n\n")[0]
    prose = re.sub(r"(?ms)^```.*?^```", "", body)
    points = min(len(pattern.findall(prose)), MAX_COUNT) or (1 if pattern.search(body) else 0)
    points += IN_HEADING if pattern.search(section.heading) else 0
    points += IN_OPENING if pattern.search(opening) else 0
    points += IN_CODE if points and re.search(rf"`[^`\n]*{re.escape(stem)}[^`\n]*`", body, re.IGNORECASE) else 0
    return points + (IN_TITLE if points and pattern.search(f"{section.title} {section.page}") else 0)


def fitted(text: str, width: int) -> str:
    """Return a page with paragraphs and list items broken between words; code, tables and headings stay as they are.

    Parameters
    ----------
    text : str
        Markdown.
    width : int
        The number of columns. A word that is wider is not broken.

    Examples
    --------
    >>> print(fitted("- one two three four\\n\\n    code stays as it is here", 12))
    - one two
      three four
    <BLANKLINE>
        code stays as it is here
    """
    lines, paragraph, is_code = list[str](), list[str](), False

    def end() -> None:
        """Move the paragraph to the lines."""
        if paragraph:
            hang = re.match(r" *(?:[-*] |\d+\. )?", paragraph[0])
            indent = " " * len(hang[0] if hang else "")
            joined = " ".join([paragraph[0], *(line.strip() for line in paragraph[1:])])
            lines.extend(_broken(joined, width, indent))
            paragraph.clear()

    for line in text.split("\n"):
        is_fence = line.lstrip().startswith("```")
        if is_fence or is_code or not line.strip() or re.match(r"#|\||    ", line):
            end()
            lines.append(line)
            is_code ^= is_fence
        else:
            if re.match(r" *(?:[-*] |\d+\. )", line):
                end()
            paragraph.append(line)
    end()
    return "\n".join(lines)


def _broken(line: str, width: int, indent: str) -> list[str]:
    """Return the parts of a line, broken between words; all parts but the first start with `indent`."""
    return textwrap.wrap(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )
