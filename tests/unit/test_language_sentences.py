"""Where sentences end, in several scripts, and that nothing of a text is lost or changed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.language.sentences import MOST_CHARACTERS, sentences
from penstock.language.words import folded, stem, telling, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We bake. You eat! Why not? Yes…  Fine.", ["We bake.", "You eat!", "Why not?", "Yes…", "Fine."]),
        ("Dr. Lind works here. She is nice.", ["Dr. Lind works here.", "She is nice."]),
        ("It is made by J. R. Stone & Co. Ltd. in the town.", ["It is made by J. R. Stone & Co. Ltd. in the town."]),
        ("It costs 4.50 euros, e.g. for one. See a.example. Bye.", 3),
        ("He said “Stop.” Then he left.", ["He said “Stop.”", "Then he left."]),
        ("1. Wash it. 2. Dry it.", ["1. Wash it.", "2. Dry it."]),
        ("We have 12. They have none.", ["We have 12.", "They have none."]),
        ("Wir öffnen am 3. Mai um 9 Uhr. Das kostet z. B. 4,50 Euro. Ja!", 3),
        ("Ouvert de 9 h à 18 h. Où êtes-vous ? Ici.", ["Ouvert de 9 h à 18 h.", "Où êtes-vous ?", "Ici."]),
        ("¿Dónde está? Aquí. ¡Gracias! De nada.", ["¿Dónde está?", "Aquí.", "¡Gracias!", "De nada."]),
        ("Это ул. Новая. Она длинная.", ["Это ул. Новая.", "Она длинная."]),
        (
            "今日は晴れです。明日は雨です！「はい。」そうですか？",
            ["今日は晴れです。", "明日は雨です！", "「はい。」", "そうですか？"],
        ),
        ("यह एक है। यह दो है।", ["यह एक है।", "यह दो है।"]),
        ("هل هذا جيد؟ نعم.", ["هل هذا جيد؟", "نعم."]),
        ("Title\nA line without an end\n\nAnother", ["Title", "A line without an end", "Another"]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text, expected):
    found = sentences(text)
    assert (len(found) if isinstance(expected, int) else found) == expected


def test_a_wrapped_line_goes_on_and_a_list_does_not():
    wrapped = "This line was broken by an editor in the middle of what it says, as\nthe next one shows. End."
    assert sentences(wrapped) == [wrapped.removesuffix(" End."), "End."]
    assert sentences("red wine\nwhite wine\nbeer") == ["red wine", "white wine", "beer"]


def test_text_without_marks_is_cut_at_spaces():
    found = sentences("word " * 1000)
    assert all(len(one) <= MOST_CHARACTERS for one in found)
    assert " ".join(found) == ("word " * 1000).strip()


@given(st.text(alphabet=st.sampled_from("aB.!? 。\n\r\t12\"”|'…\u2028"), max_size=200) | st.text(max_size=200))
def test_every_sentence_stands_in_the_text_and_only_white_space_is_lost(text):
    place = 0
    for sentence in sentences(text):
        assert sentence == sentence.strip() != ""
        place = text.index(sentence, place) + len(sentence)
    assert re.sub(r"\s", "", "".join(sentences(text))) == re.sub(r"\s", "", text)


def test_forms_of_a_word_meet():
    assert folded("Ärzte ＡＢＣ Straße") == "arzte abc strasse"
    assert stem("repairs") == stem("repair") == stem("repairing") == stem("repaired")
    assert words("Miller's bikes") == ["miller", "bikes"]
    assert words("日本語") == ["日本", "本語"]
    assert telling("How much does the bread cost?") == ["bread", "cost"]


@pytest.mark.parametrize("hostile", [". " * 500_000, "a. " * 500_000, "." * 1_000_000, ".)" * 500_000, "“" * 1_000_000])
def test_texts_made_to_be_slow_are_not(hostile):
    """Work that grows with the square of the text would take hours."""
    assert "".join(sentences(hostile)).strip()
