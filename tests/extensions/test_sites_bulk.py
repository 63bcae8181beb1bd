"""Many addresses at once: what is taken, what is one site, and what is told about the rest."""

import gzip

import pytest

from penstock.console.files.refused import FileRefused
from penstock.errors import UsageError
from penstock.extensions.sites import bulk
from penstock.extensions.sites.fetch.fetched import Fetched, Kind, Onward, SiteProblem

# ---------------------------------------------------------------- pasted


def test_one_per_line_with_what_people_leave_around_them() -> None:
    pasted = """
    # our customers
    alderby.example
    - https://Corvane.example:443/shop?utm_source=mail#top
    2. <https://dunmoor.example/a,b>
    Their site is "https://eikeland.example/", I think.
    [Fennick](https://fennick.example/about)
    """
    assert bulk.addresses(pasted) == bulk.ParsedSites(
        urls=(
            "https://alderby.example/",
            "https://corvane.example/shop",
            "https://dunmoor.example/a,b",
            "https://eikeland.example/",
            "https://fennick.example/about",
        ),
        duplicates=0,
        refused=(),
    )


def test_several_on_a_line_with_commas_semicolons_tabs_or_spaces() -> None:
    found = bulk.addresses(
        "a-one.example,b-two.example; c-three.example\td-four.example\nhttps://e.example,https://f.example"
    )
    assert found.urls == tuple(f"https://{name}.example/" for name in ("a-one", "b-two", "c-three", "d-four", "e", "f"))
    assert found.refused == ()


def test_the_same_site_in_other_letters_is_counted_and_left_out() -> None:
    found = bulk.addresses(
        "https://alderby.example\nALDERBY.example:443/\nalderby.example/#top\nhttps://alderby.example/x"
    )
    assert found.urls == ("https://alderby.example/", "https://alderby.example/x")
    assert found.duplicates == 2


def test_every_line_that_is_no_address_is_told_with_its_number() -> None:
    found = bulk.addresses("alderby.example\n\njust words\nftp://files.example/\nhttps://bad_host..example/")
    assert found.urls == ("https://alderby.example/",)
    assert [text for text, _ in found.refused] == ["just words", "ftp://files.example/", "https://bad_host..example/"]
    assert [why.split(":")[0] for _, why in found.refused] == ["Line 3", "Line 4", "Line 5"]
    assert all(len(why) > 20 for _, why in found.refused)


def test_more_than_the_most_are_left_out_with_one_sentence() -> None:
    text = ",".join(f"site-{number}.example" for number in range(bulk.MOST + 5))
    found = bulk.addresses(text)
    assert len(found.urls) == bulk.MOST
    assert found.refused == (("5 more", "At most 10,000 sites are taken at once. Add the rest as another analysis."),)


def test_what_is_told_about_a_long_list_of_nonsense_is_bounded() -> None:
    found = bulk.addresses("\n".join(["no address here " + "x" * 5000] * 1500))
    assert len(found.refused) == 1001
    assert found.refused[-1][0] == "500 more"
    assert max(len(text) for text, _ in found.refused) <= 200


def test_a_text_without_end_is_refused_before_it_is_read() -> None:
    with pytest.raises(UsageError, match="Split it"):
        bulk.addresses("x" * (8 * 1024 * 1024 + 1))


def test_hostile_lines_take_no_time() -> None:
    """Work that grows with the square of a line would take hours."""
    for line in ("a." * 500_000, "http://" * 100_000, "1." * 300_000, "-" * 1_000_000, "https://x" + "," * 1_000_000):
        bulk.addresses(line)


def test_a_list_of_one_is_told_without_a_line() -> None:
    (told,) = bulk.of_texts(["not an address"]).refused
    assert not told[1].startswith("Line")
    assert [why[:7] for _, why in bulk.of_texts(["a.example", "?"]).refused] == ["Line 2:"]


def test_several_places_together_give_each_site_once() -> None:
    merged = bulk.together([bulk.addresses("a.example\nb.example\nb.example"), bulk.of_texts(["B.example", "?"])])
    assert merged.urls == ("https://a.example/", "https://b.example/")
    assert (merged.duplicates, len(merged.refused)) == (2, 1)


# ---------------------------------------------------------------- CSV


@pytest.mark.parametrize(
    "data",
    [
        b"name,Website,city\nAlderby,alderby.example,X\nCorvane,https://corvane.example/,Y\n",
        b"name;url\nAlderby;alderby.example\nCorvane;https://corvane.example/\n",
        "\ufeffname\tDomain\r\nÄlderby\talderby.example\r\nCorvane\tcorvane.example\r\n".encode(),
        b"alderby.example\ncorvane.example\n",
        b"Alderby,alderby.example\nCorvane,corvane.example\n",
        "Kunde;Adresse im Netz\nJosé;alderby.example\nZoë;corvane.example\n".encode("cp1252"),
        b'"where"\n"alderby.example"\n\n"corvane.example"\n',
        "url\nalderby.example\ncorvane.example\n".encode("utf-16"),
    ],
)
def test_the_column_with_addresses_is_found(data: bytes) -> None:
    assert bulk.from_csv(data) == bulk.ParsedSites(
        urls=("https://alderby.example/", "https://corvane.example/"), duplicates=0, refused=()
    )


def test_a_cell_that_is_no_address_is_told_with_the_line_of_the_file() -> None:
    found = bulk.from_csv(b'note,url\n"two\nlines",alderby.example\n\nx,not an address\ny,\nz,corvane.example\n')
    assert found.urls == ("https://alderby.example/", "https://corvane.example/")
    ((text, why),) = found.refused
    assert text == "not an address"
    assert why.startswith("Line 5: ")


@pytest.mark.parametrize("data", [b"", b"name,city\nAda,Eikeland\n", b"a\0b,c\n1,2\n", b"\x89PNG\r\n\x1a\n\0\0\0"])
def test_a_file_without_addresses_is_refused_with_a_sentence(data: bytes) -> None:
    with pytest.raises(FileRefused) as refused:
        bulk.from_csv(data)
    assert len(str(refused.value)) > 30


# ---------------------------------------------------------------- sitemap


class Shelf:
    """A fetcher over what the test put there."""

    def __init__(self, **bodies: bytes) -> None:
        self.bodies = {f"https://alderby.example/{name}.xml": body for name, body in bodies.items()}
        self.asked: list[str] = []

    async def get(self, url: str, *, kind: Kind, onward: Onward | None = None) -> Fetched:
        self.asked.append(url)
        body = self.bodies.get(url)
        status = 404 if body is None else 200
        return Fetched(kind=kind, url=url, final_url=url, status=status, headers={}, body=body or b"")


def sitemap(*urls: str) -> bytes:
    places = "".join(f"<url><loc> {url} </loc></url>" for url in urls)
    return (
        f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'.encode()
    )


async def test_pages_of_a_sitemap_are_taken_once_and_images_are_not() -> None:
    body = sitemap(
        "https://alderby.example/a?x=1&amp;y=2", "<![CDATA[https://alderby.example/b]]>", "https://alderby.example/b"
    )
    body = body.replace(b"</url>", b"<image:image><image:loc>https://cdn.example/i.png</image:loc></image:image></url>")
    found = await bulk.listed_by("https://alderby.example/start.xml", Shelf(start=body))
    assert found.urls == ("https://alderby.example/a?x=1&y=2", "https://alderby.example/b")
    assert found.duplicates == 1


async def test_an_index_is_followed_one_level_and_packed_files_are_unpacked() -> None:
    index = (
        b"<sitemapindex><sitemap><loc>https://alderby.example/one.xml</loc></sitemap>"
        b"<sitemap><loc>https://alderby.example/two.xml</loc></sitemap></sitemapindex>"
    )
    shelf = Shelf(
        start=index, one=gzip.compress(sitemap("https://alderby.example/1")), two=b"https://alderby.example/2\n"
    )
    found = await bulk.listed_by("https://alderby.example/start.xml", shelf)
    assert found.urls == ("https://alderby.example/1", "https://alderby.example/2")


async def test_a_file_of_an_index_that_is_missing_is_told_and_the_others_are_read() -> None:
    index = (
        b"<sitemapindex><sitemap><loc>https://alderby.example/gone.xml</loc></sitemap>"
        b"<sitemap><loc>https://alderby.example/two.xml</loc></sitemap></sitemapindex>"
    )
    found = await bulk.listed_by(
        "https://alderby.example/start.xml", Shelf(start=index, two=sitemap("https://alderby.example/2"))
    )
    assert found.urls == ("https://alderby.example/2",)
    ((text, why),) = found.refused
    assert text == "https://alderby.example/gone.xml"
    assert "answers 404" in why


@pytest.mark.parametrize("child", ["start", "missing"])
async def test_an_index_without_end_ends(child: str) -> None:
    entry = f"<sitemap><loc>https://alderby.example/{child}.xml</loc></sitemap>".encode()
    shelf = Shelf(start=b"<sitemapindex>" + entry * 500 + b"</sitemapindex>")
    await bulk.listed_by("https://alderby.example/start.xml", shelf)
    assert len(shelf.asked) <= 51


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (None, "answers 404"),
        (b"hello", "no sitemap"),
        (b"\x1f\x8bbroken", "cannot be unpacked"),
        (gzip.compress(b" " * (51 * 1024 * 1024)), "more than 52,428,800 bytes"),
    ],
)
async def test_what_is_no_sitemap_is_told_in_a_sentence(body: bytes | None, told: str) -> None:
    shelf = Shelf() if body is None else Shelf(start=body)
    with pytest.raises(SiteProblem, match=told):
        await bulk.listed_by("https://alderby.example/start.xml", shelf)


async def test_entities_of_a_sitemap_are_not_followed() -> None:
    body = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><urlset><url><loc>&e;</loc></url></urlset>'
    found = await bulk.listed_by("https://alderby.example/start.xml", Shelf(start=body))
    assert found.urls == ()
    assert found.refused[0][0] == "&e;"
