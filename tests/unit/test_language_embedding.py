"""Vectors of texts: the same ones always, quickly, without network, and near where the meaning is."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from penstock.errors import InvalidSetting
from penstock.language import embedding
from penstock.language.embedding import DIMENSIONS, MOST_CHARACTERS, Embedder
from tests.work import calls_of

TEXTS = ["A bakery sells bread.", "Brot und Brötchen", "漢字かな", "🙂", "x" * 5000, "one", "<s> </s>"]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder.load()


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """As it comes, whole texts at once."""
    made = Tokenizer.from_file(str(embedding._folder() / embedding._TOKENIZER))
    made.encode_special_tokens = True
    return made


def test_rows_have_length_one_and_empty_texts_are_zero(embedder):
    rows = embedder.embed([*TEXTS, "", "  \n"])
    assert rows.shape == (len(TEXTS) + 2, DIMENSIONS) and rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows[:-2], axis=1), 1, atol=1e-5)
    assert not rows[-2:].any()
    assert embedder.embed([]).shape == (0, DIMENSIONS)


def test_a_text_has_the_same_bits_in_any_company(embedder, monkeypatch):
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert np.array_equal(alone, embedder.embed(TEXTS))
    monkeypatch.setattr(embedding, "_PIECES_AT_ONCE", 3)
    assert np.array_equal(alone, embedder.embed(TEXTS[::-1])[::-1])


def test_threads_and_processes_give_the_same_vectors(embedder):
    expected = embedder.embed(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for rows in pool.map(embedder.embed, [TEXTS] * 40):
            assert np.array_equal(rows, expected)
    code = (
        "import sys; from penstock.language.embedding import Embedder\n"
        f"sys.stdout.buffer.write(Embedder.load().embed({TEXTS!r}).tobytes())"
    )
    other = np.frombuffer(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout, "f4")
    assert np.allclose(other.reshape(expected.shape), expected, atol=1e-5)


def test_texts_that_mean_the_same_are_nearer(embedder):
    one, near, far = embedder.embed(["Where can I buy bread?", "The bakery sells loaves.", "The engine lost its oil."])
    assert one @ near > one @ far + 0.1


def test_broken_and_endless_texts_are_embedded(embedder):
    rows = embedder.embed(["half a pair \ud800 here", "word " * 500_000, "\x00"])
    assert np.isfinite(rows).all()
    assert np.array_equal(rows[1], embedder.embed([("word " * 500_000)[:MOST_CHARACTERS]])[0])


@given(st.text(max_size=300) | st.lists(st.sampled_from(["a", " ", "▁", "\n", "<s>", "é", "漢", "oil"])).map("".join))
def test_the_pieces_of_the_words_are_those_of_the_whole_text(embedder, tokenizer, text):
    whole = text.strip().encode("utf-8", "replace").decode()
    expected = tokenizer.encode(whole, add_special_tokens=False).ids if whole else []
    assert embedder._pieces(text) == expected
    assert embedder._pieces(text) == expected  # from memory


def test_no_piece_goes_on_behind_the_end_of_a_word(tokenizer):
    assert not [piece for piece in tokenizer.get_vocab() if "▁" in piece.lstrip("▁")]


def test_words_are_forgotten_before_they_take_too_much_memory(embedder, monkeypatch):
    monkeypatch.setattr(embedding, "_WORDS_KEPT", 10)
    texts = [f"word{number} again" for number in range(50)]
    expected = Embedder.load().embed(texts)
    assert np.array_equal(embedder.embed(texts), expected) and len(embedder._known) <= 10
    assert not any(len(word) > 32 for word in embedder._known)


def test_four_times_as_many_texts_are_about_four_times_the_work_and_less_when_known(embedder):
    def texts(count: int) -> list[str]:
        return [f"Number {number} repairs bicycles in the old town on weekdays." for number in range(count)]

    few, many, again = (calls_of(lambda count=count: embedder.embed(texts(count))) for count in (250, 1000, 1000))
    assert many < 5 * few
    assert again < many


def test_loading_needs_no_network_and_does_not_run_wordllama():
    code = (
        "import socket, sys\n"
        "def refuse(*_): raise AssertionError('network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from penstock.language.embedding import Embedder\n"
        "Embedder.load().embed(['a']); assert 'wordllama' not in sys.modules; print(int(True))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("1\n", "")


def test_a_missing_package_is_said_in_a_sentence(monkeypatch):
    monkeypatch.setattr(embedding, "find_spec", lambda name: None)
    with pytest.raises(InvalidSetting, match="pip install wordllama"):
        Embedder.load()
