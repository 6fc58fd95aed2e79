"""XML read as data from a stranger: no entities, no network, no DTD."""

from pathlib import Path

from lxml import etree


class DocumentError(Exception):
    """A document could not be read; the message names file, line and what is wrong."""


def parse(path: Path) -> etree._Element:
    """Parse the XML file at `path` and return its root element.

    Raises DocumentError when the file is missing, is not well-formed, or carries a document type
    declaration: none of our documents needs one, and it is what entity attacks are made of.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        # Opened here: lxml takes a name that looks like an address for one.
        with path.open("rb") as stream:
            tree = etree.parse(stream, parser)
    except OSError as failure:
        raise DocumentError(f"{path}: cannot be read ({failure})") from None
    except etree.XMLSyntaxError as failure:
        raise DocumentError(f"{path}:{failure.lineno}:{failure.offset}: not XML: {failure.msg}") from None
    if tree.docinfo.internalDTD is not None:
        raise DocumentError(f"{path}:1: a document type declaration is not allowed here")
    return tree.getroot()


def text_of(element: etree._Element) -> str:
    """Give the text of `element` without comments, white space folded: it is laid out for print."""
    # XPath's string value leaves comments out but keeps the text after them; itertext() does neither well.
    return " ".join(str(element.xpath("string()")).split())


def attribute(element: etree._Element, name: str) -> str:
    """Give an attribute that has to be there. Raises ValueError."""
    value = element.get(name)
    if value is None:
        known = element.get("name")
        raise ValueError(f"<{element.tag}{f' name={known!r}' if known else ''}> lacks the attribute {name!r}")
    return value
