"""What becomes of the sample site: topics that it is about, and questions that a customer would ask."""

from importlib.resources import files
from typing import Any

import pytest

from penstock.extensions.sites.extract.site import understand
from penstock.extensions.sites.findings import SiteFacts
from penstock.extensions.sites.prompts.forming import LANGUAGES, form
from penstock.language.labels import asks, is_label, is_section
from penstock_demo import businesses
from tests.extensions.sites_reading import crawled, facts, page

PAGES = ("index", "repairs", "hire", "about", "contact")
NO_TOPICS = ("about us", "address", "telephone", "how to hire", "what repairs cost", "contact", "willow lane bicycles")
NO_QUESTIONS = ("About us", "Address", "telephone", "How to hire", "Guarantee", "What repairs", "Repairs?", "Bicycle ")


@pytest.fixture(scope="module")
def sample() -> SiteFacts:
    folder = files("penstock.extensions.sites").joinpath("sample_site")
    return understand(
        crawled(*(page(folder.joinpath(f"{name}.html").read_bytes(), url=f"http://127.0.0.1/{name}") for name in PAGES))
    )


def test_the_topics_of_the_sample_site_are_what_it_is_about(sample: SiteFacts) -> None:
    found = [topic.text.casefold() for topic in sample.topics]
    assert not [bad for bad in NO_TOPICS if bad in found]
    assert {"bicycle repairs", "bicycle hire", "electric bicycles", "cargo bicycles"} <= set(found)


def test_the_prompts_of_the_sample_site_read_like_questions_of_customers(sample: SiteFacts) -> None:
    texts = [prompt.text for prompt in form(sample, most=200)]
    assert len(texts) > 30
    without_name = [text.replace("Willow Lane Bicycles", "it") for text in texts]
    assert not [text for text in without_name for bad in NO_QUESTIONS if bad in text]
    assert {
        "Who offers bicycle repairs?",
        "What is the price of brake pads?",
        "Who offers bicycle repairs in Northmere?",
        "What is the difference between a battery check and full service?",
    } <= set(texts)


READ = [one for one in businesses.businesses().values() if not one.get("down") and not one.get("closed")]


@pytest.mark.parametrize("business", READ, ids=lambda one: str(one["slug"]))
def test_the_prompts_of_the_demonstration_are_about_what_its_businesses_offer(business: dict[str, Any]) -> None:
    origin = f"http://{business['slug']}.localhost"
    pages = [(path, businesses.answer(business, path, origin)[2]) for path in ("/", "/prices", "/about", "/questions")]
    found = understand(crawled(*(page(body, url=origin + path) for path, body in pages)))
    assert sorted(one.text for one in found.offers) == sorted(name for name, _, _ in business["offers"])
    texts = [prompt.text for prompt in form(found, most=8)]
    assert f"Who offers {business['subject']} in {business['town']}?" in texts
    # Capitals are for names: a heading that went into a question as it stood would have one.
    plain = [text.replace(business["name"], "").replace(business["town"], "")[1:] for text in texts]
    assert not [text for text in plain if text.replace(" I ", " ") != text.replace(" I ", " ").lower()]


def test_a_name_keeps_its_capital_and_german_nouns_theirs() -> None:
    english = facts(
        "<html lang=en><title>Hotels</title><body><main><h2>Corvane tours</h2><h2>Boat tours</h2>"
        "<p>We show you old Corvane from the water. Everybody likes it, and so will you.</p></main></body></html>"
    )
    texts = " ".join(prompt.text for prompt in form(english, most=50))
    assert "Corvane tours" in texts and "corvane tours" not in texts
    assert "boat tours" in texts and "Boat tours" not in texts
    german = facts(
        "<html lang=de><title>Rad</title><body><main><h2>Gebrauchte Fahrräder</h2><h2>Räder mit Motor</h2>"
        "<p>Wir prüfen gebrauchte Fahrräder gründlich, bevor wir sie verkaufen.</p></main></body></html>"
    )
    texts = " ".join(prompt.text for prompt in form(german, most=50))
    assert "gebrauchte Fahrräder" in texts
    assert "Räder mit Motor" in texts


@pytest.mark.parametrize(
    ("language", "labels"),
    [
        ("en", ("About us", "Telephone: +00 555 0142", "E-mail", "Find us", "Our team")),
        ("de", ("Über uns", "Anschrift", "Telefon", "So finden Sie uns", "Impressum")),
        ("fr", ("À propos", "Téléphone", "Nous contacter", "Qui sommes-nous ?", "Plan d’accès")),
        ("es", ("Sobre nosotros", "Dirección", "Teléfono", "¿Quiénes somos?", "Aviso legal")),
        ("it", ("Chi siamo", "Indirizzo", "Dove siamo", "Contattaci", "Note legali")),
        ("nl", ("Over ons", "Adres", "Telefoon", "Neem contact op", "Veelgestelde vragen")),
        ("pt", ("Sobre nós", "Endereço", "Telefone", "Quem somos", "Fale conosco")),
        ("pl", ("O nas", "Adres", "Telefon", "Strona główna", "Dane kontaktowe")),
    ],
)
def test_parts_of_a_site_are_known_in_every_language_of_the_prompts(language: str, labels: tuple[str, ...]) -> None:
    assert language in LANGUAGES
    assert [label for label in labels if not is_label(label)] == []


def test_a_subject_is_no_label_even_where_it_holds_the_word_of_one() -> None:
    for text in ("Contact lenses", "Home insurance", "Team events", "Telefonanlagen", "Howell pumps", "Whyte bicycles"):
        assert not (is_label(text) or is_section(text) or asks(text)), text
    assert is_section("Prices") and is_section("Öffnungszeiten")
    assert asks("How to hire") and asks("Comment réserver") and not asks("Why")
