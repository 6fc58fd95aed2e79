"""The names of the site's files: from identities and from what products call themselves, but never harmful.

A name is a pure function of what it names, so that links keep their meaning when other builds come and go.
"""

import hashlib
import re
import unicodedata

from reports.model.findings import Build, mark

LONGEST = 120
"""Characters of a name, without its ending: file systems allow 255 octets."""
_SAFE = re.compile(r"[a-z0-9_][a-z0-9_.-]*")
_TAKEN = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?|.*\.(html|pcapng)")
"""Names of devices to one system, and those a folder may not have because a page has."""


def rule_name(identity: str) -> str:
    """Give the path of a rule's page below `rules/`, without its ending: the identity where harmless.

    Any other identity is made harmless and marked with a hash of itself, so that no two share a name.
    """
    parts = identity.split("/")
    harmless = all(_SAFE.fullmatch(part) and not _TAKEN.fullmatch(part) for part in parts)
    if harmless and len(identity) <= LONGEST:
        return identity
    return f"{_plain(identity)}-{_mark(identity)}"


def build_name(build: Build) -> str:
    """Name a build's page below `targets/`, without its ending; also its anchor on other pages."""
    named = [build.product, build.version, build.target, *filter(None, [build.label, mark(build.role)])]
    told = "-".join(filter(None, map(_plain, named)))
    return f"{told[:LONGEST].strip('.-')}-{_mark(*named)}".lstrip("-")


def _plain(text: str) -> str:
    ascii_only = unicodedata.normalize("NFKD", text[: 4 * LONGEST]).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[^a-z0-9.]+", "-", ascii_only.casefold())[:LONGEST].strip(".-")


def _mark(*texts: str) -> str:
    whole = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(whole).hexdigest()[:10]


def rule_page(identity: str) -> str:
    """Say where the page of a rule stands, relative to the site."""
    return f"rules/{rule_name(identity)}.html"
