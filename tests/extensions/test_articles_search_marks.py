"""Marks and windows: pure."""

from penstock.extensions.articles import passages


def marked(text: str, lexemes: list[str], same: set[str] | None = None) -> list[str]:
    return [text[start:end] for start, end in passages.ranges(text, lexemes, same or set())]


def test_words_that_the_server_knows_as_the_same_are_marked_where_they_stand():
    text = "Pumping stations pump; a pumpkin does not."
    assert marked(text, ["pump"], {"Pumping"}) == ["Pumping", "pump"]


def test_umlauts_and_case_do_not_matter_and_offsets_count_characters():
    text = "Ölfilter für MÜLLER: öl 😀 Muller"
    assert marked(text, ["müller", "öl"]) == ["MÜLLER", "öl", "Muller"]
    assert passages.ranges("😀 öl", ["öl"]) == [(2, 4)]


def test_only_words_that_begin_alike_are_asked_about():
    assert passages.likely(["Categories of happy cats", "running"], ["categori", "run"]) == {
        "Categories",
        "cats",
        "running",
    }


def test_the_window_has_the_most_words_of_the_query_and_starts_with_a_sentence():
    text = "Alpha comes alone. " + "Nothing here. " * 100 + "Now beta meets alpha and gamma. " + "Nothing. " * 100
    first, last = passages.window(text, ["gamma", "alpha", "beta"], length=200)
    assert text[first:last].startswith("Now beta meets alpha and gamma.")
    assert last - first <= 200


def test_the_window_of_a_stem_that_lost_its_last_letter_is_found():
    text = "Filler words. " * 50 + "Our category is last."
    first, last = passages.window(text, ["categori"], length=200)
    assert "category" in text[first:last]


def test_without_a_word_of_the_query_the_beginning_is_shown():
    assert passages.window("One two three", ["four"], length=200) == (0, 13)
    assert passages.window("", ["four"], length=200) == (0, 0)


def test_a_letter_that_grows_when_it_is_lowered_moves_nothing():
    text = "İ" * 300 + " needle in here"
    first, last = passages.window(text, ["needle"], length=100)
    assert "needle" in text[first:last]


def test_a_million_characters_take_no_time():
    text = "pump and water " * 70_000
    first, last = passages.window(text, ["pump", "water", "needle"], length=500)
    assert 0 <= first < last <= len(text)
