"""Whether an answer names the business, and whom else."""

import pytest

from penstock.extensions.sites.scoring.names import Business, Others, core, within

CYCLES = Business("Quillfeather Cycles Ltd.", "https://www.quillfeather.example/about")


@pytest.mark.parametrize(
    "text",
    [
        "I would go to Quillfeather Cycles.",
        "**Quillfeather Cycles** – repairs",
        "QUILLFEATHER CYCLES",
        "quillfeather cycles is fine",
        "QuillfeatherCycles",
        "Quillfeather-Cycles Limited",
        "Quilfeather Cycles",
        "Quillfaether Cycles",
        "Quillfeather Cycles' workshop",
        "see https://quillfeather.example/prices",
        "Quillfeather.example has prices",
    ],
)
def test_the_name_is_found_however_it_is_written(text):
    assert CYCLES.named_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Any shop for cycles will do.",
        "Feather Cycles",
        "Quill & Feather Stationery",
        "notquillfeather.example",
        "quillfeather.example-shop",
    ],
)
def test_what_only_resembles_the_name_is_not_it(text):
    assert not CYCLES.named_in(text)


def test_short_names_and_numbers_leave_no_room_for_slips():
    assert not Business("Studio 71 Berlinchen", "https://a.example").named_in("Studio 72 Berlinchen")
    assert not Business("Marlo", "https://a.example").named_in("Ask Marla or Carlo.")
    assert Business("Anchor", "https://b.example").named_in("Try Anchor.")
    assert not Business("Anchor", "https://b.example").named_in("The ship dropped its anchor.")


def test_a_site_without_a_name_is_found_by_its_domain_and_an_address_is_no_domain():
    assert Business(None, "https://kiln.example").named_in("kiln.example is good")
    assert not Business(None, "http://127.0.0.1:8000/").named_in("127.0.0.1")
    assert not Business("", "nonsense").named_in("anything at all")


@pytest.mark.parametrize(
    "name",
    [
        "Mühlbach",
        "The Mühlbach Ltd",
        "Mühlbach GmbH & Co. KG",
        "MUHLBACH S.p.A.",
        "Mühlbach sp. z o.o.",
        "Mühlbach e.K.",
    ],
)
def test_legal_forms_articles_and_accents_make_no_other_business(name):
    assert core(name) == ("muhlbach",)


def test_slips_are_counted_with_swapped_letters_as_one():
    assert within("abcd", "abdc", 1) and within("abcd", "abc", 1) and within("abcd", "abxd", 1)
    assert not within("abcd", "badc", 1) and not within("abcd", "ab", 1)


ANSWER = """Here are some workshops in Harrowmere:

1. **Spoke & Saddle** – good for commuters.
2. Quillfeather Cycles: a family workshop.
3. Velodrome Bros (city centre)
4. Check the reviews before you go

- Price: compare it
- **Customer Service:** ask friends

If you like, the Blue Wheel Workshop near New Haven will do. PedalPro is quick. Go on Monday."""


def named(text, prompt="Who repairs bikes in Harrowmere?", **more):
    others = Others(["Quillfeather Cycles"], ["Harrowmere"])
    return [one.name for one in others.find(text, prompt=prompt, own=CYCLES.find(text), **more)]


def test_others_are_found_in_lists_in_bold_and_in_the_text():
    assert named(ANSWER) == ["Spoke & Saddle", "Velodrome Bros", "Blue Wheel Workshop", "PedalPro"]


def test_advice_places_and_the_words_of_the_question_are_nobody():
    assert named("- Location: near\n- Opening Hours: long\nGo to Harrowmere on Friday.") == []
    assert named("Torque House is what you asked about.", prompt="Is Torque House good?") == []
    assert named("") == []


def test_a_name_that_was_listed_elsewhere_is_found_as_a_single_word():
    assert named("Many people like Zephyrine for this.") == []
    assert named("Many people like Zephyrine for this.", known=["Zephyrine"]) == ["Zephyrine"]
