"""Addresses: what people type, what is the same page, and what is no address at all."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.extensions.sites.fetch.address import canonical, host_and_port, joined, parse_site, same_site
from penstock.extensions.sites.fetch.fetched import SiteProblem


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("example.com", "https://example.com/"),
        ("  <example.com/shop>  ", "https://example.com/shop"),
        ("https://Example.COM:443/a/../b?utm_source=x#y", "https://example.com/b"),
        ("http://example.com:80", "http://example.com/"),
        ("//example.com/a", "https://example.com/a"),
        ("localhost:8000", "http://localhost:8000/"),
        ("127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
        ("example.com:443/a", "https://example.com/a"),
        ("http://intranet/", "http://intranet/"),
        ("https://example.com./", "https://example.com/"),
        ("http://[::0001]:8080/", "http://[::1]:8080/"),
        ("https://bücher.example/größe", "https://xn--bcher-kva.example/gr%C3%B6%C3%9Fe"),
        ("https://example.com/%7euser/a%2fb?a=1&gclid=2&b=%zz", "https://example.com/~user/a%2Fb?a=1&b=%25zz"),
        ("https://example.com/a/./b/..", "https://example.com/a/"),
        ("https://example.com/../../a", "https://example.com/a"),
    ],
)
def test_what_people_type_becomes_one_address(typed: str, meant: str) -> None:
    assert parse_site(typed) == meant
    assert canonical(meant) == meant


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "empty"),
        ("hello", "no address of a website"),
        ("not a url", "white space"),
        ("mailto:me@example.com", "only http and https"),
        ("javascript:alert(1)", "only http and https"),
        ("ftp://example.com/x", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("https://", "names no host"),
        ("https://exa mple.com", "white space"),
        ("https://-a.example", "names no host"),
        ("https://a..b", "names no host"),
        ("https://example.com:99999/", "no address of a website"),
        ("https://example.com:0/", "port 0"),
        ("https://[::1", "no address of a website"),
        ("https://[fe80::1%25eth0]/", "names no host"),
        ("https://" + "a" * 64 + ".example", "names no host"),
        ("https://example.com/" + "a" * 3000, "characters"),
        ("https://a\0b.example", "white space"),
    ],
)
def test_what_is_no_website_is_refused_with_a_sentence(typed: str, why: str) -> None:
    with pytest.raises(SiteProblem, match=why) as refused:
        parse_site(typed)
    assert str(refused.value).endswith(".")


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(SiteProblem, match="user name or password") as refused:
        parse_site("https://someone:s3cret@example.com/")
    assert "s3cret" not in str(refused.value)


def test_one_site_is_one_host_and_port_with_or_without_www() -> None:
    assert same_site("http://example.com/a", "https://www.example.com/b")
    assert not same_site("https://example.com", "https://shop.example.com")
    assert not same_site("https://example.com:8443", "https://example.com")
    assert not same_site("https://example.com", "mailto:x@example.com")


def test_links_lead_where_a_browser_would_go() -> None:
    base = "https://example.com/shop/list?x=1"
    assert joined(base, "bread#top") == "https://example.com/shop/bread"
    assert joined(base, "?page=2") == "https://example.com/shop/list?page=2"
    assert joined(base, "//other.example/ä") == "https://other.example/%C3%A4"
    assert joined(base, "/a?utm_source=x") == "https://example.com/a?utm_source=x"
    for nothing in ("mailto:a@b.example", "tel:123", "javascript:void(0)", "http://[broken", "data:text/html,x"):
        assert joined(base, nothing) is None


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_a_sentence(text: str) -> None:
    with contextlib.suppress(SiteProblem):
        found = parse_site(text)
        assert found.isascii() and found.startswith(("http://", "https://"))
        assert canonical(found) == found
        assert host_and_port(found)[0]
