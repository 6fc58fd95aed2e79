import socket
from pathlib import Path

import pytest
from lxml import etree

from spec.readers.xml import DocumentError, parse, text_of


def written(folder: Path, text: str) -> Path:
    path = folder / "document.xml"
    path.write_text(text, encoding="utf-8")
    return path


def test_malformed_document_names_file_line_and_fault(tmp_path: Path) -> None:
    path = written(tmp_path, "<amqp>\n <class>\n </method>\n</amqp>\n")
    with pytest.raises(DocumentError, match=rf"^{path}:3:\d+: not XML: .*class line 2 and method"):
        parse(path)


@pytest.mark.parametrize(
    "text", ["", "no markup", "<amqp>", "<amqp/><amqp/>", "<amqp a='1' a='2'/>", "<a>\x00</a>"]
)
def test_what_is_no_document_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DocumentError, match=r"document\.xml:\d+:\d+: not XML: \w"):
        parse(written(tmp_path, text))


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"nowhere\.xml: cannot be read"):
        parse(tmp_path / "nowhere.xml")


@pytest.mark.parametrize(
    "declaration",
    [
        "<!DOCTYPE amqp>",
        '<!DOCTYPE amqp SYSTEM "amqp.dtd">',
        '<!DOCTYPE amqp PUBLIC "-//AMQP//EN" "amqp.dtd">',
        '<!DOCTYPE amqp [<!ENTITY word "MUST">]>',
    ],
)
def test_document_type_declaration_is_refused(tmp_path: Path, declaration: str) -> None:
    with pytest.raises(DocumentError, match="document type declaration is not allowed"):
        parse(written(tmp_path, f"{declaration}<amqp/>"))


def test_entities_are_refused_not_expanded(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    entity = f'<!DOCTYPE amqp [<!ENTITY word SYSTEM "{(tmp_path / "secret").as_uri()}">]>'
    with pytest.raises(DocumentError) as caught:
        parse(written(tmp_path, f"{entity}<amqp>&word;</amqp>"))
    assert "secret" not in str(caught.value)


def test_undeclared_entity_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="not XML: Entity 'word' not defined"):
        parse(written(tmp_path, "<amqp>&word;</amqp>"))


def test_billion_laughs_are_refused(tmp_path: Path) -> None:
    entities = ['<!ENTITY e0 "ha">', *(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 30))]
    with pytest.raises(DocumentError):
        parse(written(tmp_path, f"<!DOCTYPE amqp [{''.join(entities)}]><amqp>&e29;</amqp>"))


def test_network_is_never_touched(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/amqp.dtd"
        for text in (
            f'<!DOCTYPE amqp SYSTEM "{address}"><amqp/>',
            f'<!DOCTYPE amqp [<!ENTITY word SYSTEM "{address}">]><amqp>&word;</amqp>',
            f'<!DOCTYPE amqp [<!ENTITY % part SYSTEM "{address}"> %part;]><amqp/>',
        ):
            with pytest.raises(DocumentError):
                parse(written(tmp_path, text))
        with pytest.raises(DocumentError, match="cannot be read"):
            parse(Path(address))
        # Whoever had connected would be waiting in the backlog by now: parsing is over.
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_document_type_declaration_in_a_comment_is_only_a_comment(tmp_path: Path) -> None:
    assert parse(written(tmp_path, "<!-- <!DOCTYPE amqp> --><amqp/>")).tag == "amqp"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<doc/>", ""),
        ("<doc> one\n  two\t</doc>", "one two"),
        ("<doc>one<!-- not this --> two</doc>", "one two"),
        ("<doc>one <i>two</i> three<?target no?></doc>", "one two three"),
    ],
)
def test_text_has_no_comments_and_folded_white_space(markup: str, text: str) -> None:
    assert text_of(etree.fromstring(markup)) == text
