"""What is made of single oddities of pages."""

import orjson
import pytest

from penstock.extensions.sites.extract.site import understand
from penstock.extensions.sites.findings import SiteFacts
from tests.extensions.sites_reading import crawled, facts, page

PROSE = "Our shop sells tea and coffee to people who have time for it, and it is open on every day of the week. " * 3


def test_an_empty_page_has_facts_and_a_note_that_there_is_no_text() -> None:
    found = facts(b"")
    assert (found.title, found.name, found.pages[0].text) == (None, None, "")
    assert "hardly any text" in found.notes[0]


@pytest.mark.parametrize(
    "body", [b"\x00" * 4096, bytes(range(256)) * 64, b"%PDF-1.7 stream", b"<" * 5000, b"\xff\xfe<"]
)
def test_bytes_that_are_no_html_are_read_without_an_error(body: bytes) -> None:
    found = facts(body, content_type="")
    stored = orjson.dumps(found.as_json())
    assert b"\\u0000" not in stored
    assert SiteFacts.from_json(orjson.loads(stored)) == found


@pytest.mark.parametrize(
    ("head", "canonical"),
    [
        ('<link rel="canonical" href="/tea">', "https://www.shop.example/tea"),
        ('<link rel="canonical" href="//shop.example/tea">', "https://shop.example/tea"),
        ('<base href="/de/"><link rel="canonical" href="tea">', "https://www.shop.example/de/tea"),
        ('<link rel="canonical" href="http://127.0.0.1:3000/">', None),
        ('<link rel="canonical" href="https://other.example/">', None),
        ('<link rel="canonical" href="javascript:alert(1)">', None),
        ('<link rel="canonical" href="http://[">', None),
        ('<link rel="canonical" href=""><meta property="og:url" content="https://www.shop.example/x">',
         "https://www.shop.example/x"),
        ('<meta property="og:url" content="undefined">', None),
    ],
)  # fmt: skip
def test_a_canonical_address_is_believed_only_for_the_own_site(head: str, canonical: str | None) -> None:
    assert facts(f"<head>{head}</head><p>{PROSE}").canonical == canonical


@pytest.mark.parametrize(
    ("charset", "said"),
    [
        ("utf-8", "text/html; charset=iso-8859-1"),
        ("utf-8", "text/html; charset=klingon"),
        ("windows-1252", "text/html; charset=ISO-8859-1"),
        ("windows-1252", "text/html; charset=utf-8"),
        ("utf-16", "text/html; charset=utf-8"),
        ("utf-16-le", "text/html"),
        ("utf-8-sig", "text/html; charset=windows-1252"),
    ],
)
def test_the_charset_is_that_of_the_bytes_whatever_was_said(charset: str, said: str) -> None:
    text = "Größe, Maße und Übergrößen der Möbel für das Büro – alle Preise ändern sich häufig. " * 5
    found = facts(f"<html><title>Möbel für Größen</title><body><p>{text}".encode(charset), content_type=said)
    assert found.title == "Möbel für Größen"
    assert "Übergrößen der Möbel" in found.pages[0].text


def test_a_language_that_was_said_loses_against_a_text_in_another_one() -> None:
    german = (
        "Wir sind ein Betrieb und bauen die Möbel mit der Hand, aber nicht für den Export und auch nicht billig. " * 3
    )
    assert facts(f'<html lang="en"><p>{german}').language == "de"
    assert facts(f'<html lang="de-CH"><p>{german}').language == "de"
    assert facts(f'<html lang="en-GB"><p>{PROSE}').language == "en"
    # A language without a list of words is believed.
    assert facts('<html lang="mt"><p>Merħba għal kulħadd f\'din il-paġna tagħna dwar it-te u l-kafè').language == "mt"


@pytest.mark.parametrize(
    "script",
    [
        '{"@type":"Bakery","name":"Corner Bakery","telephone":"+1 555 010 0199"}',
        '[{"@type":"WebPage"},{"@type":"Bakery","name":"Corner Bakery","telephone":"+1 555 010 0199"}]',
        '{"@graph":[[{"@type":["Bakery"],"name":["Corner Bakery"],"telephone":"+1 555 010 0199"}]]}',
        '<!-- {"@type":"Bakery","name":"Corner Bakery","telephone":"+1 555 010 0199",} -->',
        '{"@type":"Bakery","name":"Corner Bakery" "telephone":"+1 555 010 0199"}',
        '{"@type":"Bakery","name":"Corner Bakery","telephone":"+1 555 010 0199", oops',
        '{"@type":"https://schema.org/Bakery","name":"Corner\nBakery","telephone":"+1 555 010 0199"}',
    ],
)
def test_json_ld_is_understood_in_each_of_its_shapes(script: str) -> None:
    found = facts(f'<title>Bread</title><script type="application/ld+json">{script}</script><p>{PROSE}')
    assert found.name == "Corner Bakery"
    assert found.contacts.phones == ("+1 555 010 0199",)


def test_the_usual_slips_in_json_ld_cost_nothing_of_what_is_nested_in_it() -> None:
    script = """{"@type":"Bakery","name":"Corner Bakery",
        // not our idea
        "address":{"addressLocality":"Hilltown","postalCode":"12345",},}"""
    found = facts(f'<script type="application/ld+json">{script}</script><p>{PROSE}')
    assert found.contacts.addresses == ("12345 Hilltown",)
    assert found.places == ("Hilltown",)
    assert found.notes == ()


@pytest.mark.parametrize(
    "around",
    [
        "<nav>Surplus words</nav>",
        "<footer><p>Surplus words</footer>",
        "<aside><h2>Surplus words</h2></aside>",
        "<form><label>Surplus words<input></label></form>",
        "<div role=banner>Surplus words</div>",
        "<div hidden>Surplus words</div>",
        '<div style="display: none">Surplus words</div>',
        '<div id="cookie-box"><p>Surplus words</div>',
        '<ul><li><a href="/a">Surplus</a><li><a href="/b">words</a></ul>',
        "<script>Surplus words</script><style>Surplus words</style><noscript>Surplus words</noscript>",
        "<div><p>Surplus words, 12 Mill Lane</p><p>Tel. +1 555 010 0100, tea@shop.example</p></div>",
    ],
)
def test_what_stands_around_the_content_is_not_in_the_text(around: str) -> None:
    found = facts(f"<body><div class=a><h1>Tea</h1><p>{PROSE}</div>{around}")
    assert found.pages[0].text == f"Tea\n{PROSE.strip()}"


def test_json_ld_that_never_ends_or_nests_endlessly_is_bounded() -> None:
    deep = '{"@type":"A","x":' * 3000 + "1" + "}" * 3000
    wide = "[" + ",".join(['{"@type":"Offer","name":"n","v":[1e999,NaN]}'] * 5000) + "]"
    for script in (deep, wide, '{"@type":"A","n":' + "9" * 5000 + "}", "[" * 100_000):
        found = facts(f'<script type="application/ld+json">{script}</script><p>{PROSE}')
        assert len(orjson.dumps(found.as_json())) < 100_000


def test_what_several_pages_say_comes_together_and_the_start_page_decides() -> None:
    start = page(f"<html lang=en><title>Tea | Corner Shop</title><h1>Tea</h1><p>{PROSE}")
    prices = page(
        "<html lang=en><title>Prices | Corner Shop</title><h1>Prices</h1><table><tr><td>Black tea<td>€4.50</table>"
        "<p>Write to tea@shop.example or call +1 555 010 0123",
        url="https://www.shop.example/prices",
    )
    found = understand(crawled(start, prices))
    assert (found.url, found.title, found.name) == ("https://www.shop.example/", "Tea | Corner Shop", "Corner Shop")
    assert [(one.text, one.price, one.place.page) for one in found.offers] == [
        ("Black tea", "€4.50", "https://www.shop.example/prices")
    ]
    assert found.contacts.emails == ("tea@shop.example",)
    assert [one.url for one in found.pages] == ["https://www.shop.example/", "https://www.shop.example/prices"]
    assert {"Tea", "Prices"} <= {one.text for one in found.topics}


def test_robots_and_sitemaps_are_no_pages() -> None:
    start = page(f"<p>{PROSE}")
    robots = page("User-agent: *", url="https://www.shop.example/robots.txt")
    found = understand(crawled(start, type(robots)(**{**_fields(robots), "kind": "robots"})))
    assert len(found.pages) == 1


def test_everything_that_is_kept_has_a_limit() -> None:
    rows = "".join(f"<tr><td>Item {n} {'x' * 500}<td>€{n}.00</tr>" for n in range(500))
    links = "".join(f'<a href="/p{n}">p{n}</a>' for n in range(3000))
    words = "".join(f"<h2>Topic {n}</h2><p>{PROSE}" for n in range(1000))
    mails = " ".join(f"a{n}@shop.example +1 555 010 {n:04}" for n in range(500))
    found = facts(f"<title>{'t' * 9999}</title><p>{mails}</p>{words}<table>{rows}</table>{links}")
    assert len(found.title or "") <= 300
    assert len(found.topics) <= 40 and len(found.offers) <= 100
    assert len(found.contacts.emails) <= 20 and len(found.contacts.phones) <= 20
    assert len(found.pages[0].text) <= 60_000 and len(found.pages[0].links) <= 300
    assert len(orjson.dumps(found.as_json())) < 300_000


def _fields(fetched: object) -> dict:
    return {name: getattr(fetched, name) for name in ("url", "final_url", "status", "headers", "body")}
