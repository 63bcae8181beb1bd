"""Encodings of text files: recognised by what the bytes say in each of them, and named as a guess where two fit."""

import html
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.console.files.csv_rows import read, shape_of_head
from penstock.console.files.encoding import encoding_of
from penstock.console.files.preview import Preview, Reading, look
from penstock.console.files.refused import FileRefused

QUALITY = Path(os.environ.get("PENSTOCK_QUALITY", Path(__file__).parents[3] / "shared" / "quality"))


@pytest.mark.parametrize(
    "cells",
    [
        ["Père & Fils"],
        ["Crème brûlée", "Pâtisserie à côté", "Où êtes-vous ?", "garçon"],
        ["Müller", "Größe", "Straße", "Übermut"],
        ["Peña Núñez", "¿Cómo está?", "corazón"],
        ["João", "Magalhães", "ligações"],
        ["Città", "perché", "più", "così", "può"],
        ["Søren Ærø", "Ålesund", "Bjørnstjerne"],
        ["Åsa", "Göran", "Växjö"],
        ["Þórður Guðmundsson", "Björk"],
        ["It doesn’t work", "“quoted” — and so on…"],
        ["operate—you", "12 × 5"],
        ["10 m³", "25 °C", "© 2020", "£5", "€7"],
        ["10 °C", "±0,5"],
        ["10 µm"],
        ["Maß", "±0,5"],
        ["£10", "¥5", "¼ Zoll"],
    ],
    ids=lambda cells: cells[0],
)
def test_western_text_in_windows_1252_is_read_as_such(cells):
    text = "id,name\r\n" + "".join(f"{number},{cell}\r\n" for number, cell in enumerate(cells))
    data = text.encode("cp1252")
    assert data.decode(encoding_of(data)) == text


@pytest.mark.parametrize(
    ("encoding", "cells"),
    [
        ("cp1250", ["Łódź", "Wałęsa", "Gdańsk", "książka", "źródło"]),
        ("cp1250", ["Dvořák", "Škoda", "žluťoučký kůň", "příliš", "město"]),
        ("cp1250", ["Erdős", "Győr", "tűzoltó", "Szűcs", "László"]),
        ("iso8859-2", ["Łódź", "Wałęsa", "Gdańsk", "książka", "źródło", "święto"]),
        ("iso8859-15", ["Crème brûlée", "œuvre", "Lebœuf", "12 €", "à côté"]),
        ("cp1254", ["İstanbul", "Ağrı", "şarkı", "Türkçe", "Kadıköy"]),
        ("mac-roman", ["Crème brûlée", "Pâtisserie à côté", "garçon", "où", "déjà"]),
        ("mac-roman", ["Größe", "Straße", "Müller", "Übermut", "schön"]),
        ("cp1251", ["Москва", "Санкт-Петербург", "привет, как дела", "хорошо"]),
        ("cp1253", ["Αθήνα", "Θεσσαλονίκη", "καλημέρα", "ευχαριστώ πολύ"]),
        ("shift_jis", ["東京都", "ありがとうございます", "コンピュータ", "日本語"]),
        ("gb18030", ["北京市", "谢谢大家", "我们的产品", "中华人民共和国"]),
        ("euc_kr", ["서울특별시", "감사합니다", "안녕하세요", "대한민국"]),
        ("big5", ["臺北市", "謝謝大家", "我們的產品", "中華民國"]),
    ],
)
def test_other_code_pages_are_still_recognised(encoding, cells):
    text = "id,name\r\n" + "".join(f"{number},{cell}\r\n" for number, cell in enumerate(cells))
    data = text.encode(encoding)
    assert data.decode(encoding_of(data)) == text


def test_utf_8_with_one_stray_byte_stays_utf_8_and_the_row_is_named():
    rows = [f"{number},Müller für Größe" for number in range(1, 21)]
    data = ("id,name\n" + "\n".join(rows) + "\n").encode().replace(b"7,M\xc3\xbcller", b"7,M\xfcller", 1)
    assert encoding_of(data) == "utf-8"

    shape = shape_of_head(data, whole=True)
    pieces = iter([data])
    found = []
    with pytest.raises(FileRefused, match="Row 7: byte 0xfc is not utf-8"):
        for row in read(lambda: next(pieces, b""), shape):
            found.append(row)
    assert found[-1] == ["6", "Müller für Größe"]


@pytest.mark.parametrize("encoding", ["shift_jis", "gb18030", "euc_kr", "big5", "utf-8"])
def test_a_beginning_that_ends_inside_a_character_has_the_encoding_of_the_whole(encoding):
    word = {"euc_kr": "서울특별시", "gb18030": "谢谢大家", "big5": "謝謝大家"}.get(encoding, "ありがとう")
    data = f"id,{word}\n".encode(encoding) * 500
    whole = encoding_of(data)
    assert whole == encoding
    cuts = range(len(data) - 12, len(data))
    assert {encoding_of(data[:cut]) for cut in cuts} == {whole}


def seen(data: bytes, **given: str) -> Preview:
    return look(data, name="names.csv", size_bytes=len(data), reading=Reading(**given))


def test_a_preview_calls_a_doubtful_encoding_a_guess_and_names_the_alternative():
    data = "id,name\r\n1,Père & Fils\r\n".encode("cp1252")
    found = seen(data)
    assert (found.encoding, found.rows) == ("cp1252", [["1", "Père & Fils"]])
    (trouble,) = found.troubles
    assert not trouble.blocks and trouble.row is None
    for words in ("guess", "cp1252", "cp1250", "Père", "Pčre"):
        assert words in trouble.sentence
    assert not seen(data, encoding="cp1250").troubles, "somebody has said which one it is"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8"])
def test_a_preview_does_not_call_an_encoding_a_guess_that_the_text_makes_plain(encoding):
    data = "id,name\r\n1,Crème brûlée à côté\r\n2,Où êtes-vous garçon ?\r\n3,Hélène Lefèvre\r\n".encode(encoding)
    assert not seen(data).troubles


def test_real_pages_in_windows_1252_are_read_exactly():
    archive = QUALITY / "pages" / "mozilla.tar.xz"
    if not archive.exists():
        pytest.skip("the pages are not on this machine")
    texts = list(_western_pages(archive))
    wrong = [text[:60] for text in texts if text.encode("cp1252").decode(encoding_of(text.encode("cp1252"))) != text]
    assert len(texts) > 50 and not wrong


def _western_pages(archive: Path) -> Iterator[str]:
    """Those that lose hardly a character in Windows-1252 and hold some that are not ASCII, a row per line."""
    with tarfile.open(archive) as pages:
        for member in pages:
            if member.name.endswith("/expected.html"):
                source = pages.extractfile(member)
                assert source is not None
                page = html.unescape(re.sub(r"<[^>]+>", " ", source.read().decode()))
                lines = [re.sub(r"\s+", " ", line).strip() for line in page.splitlines()]
                text = "id,text\r\n" + "".join(f'{n},"{line}"\r\n' for n, line in enumerate(lines) if line)
                kept = text.encode("cp1252", "ignore").decode("cp1252")
                if not kept.isascii() and len(kept) > 0.97 * len(text):
                    yield kept
