"""What an answer other than 200 means: whether to wait, to change something, or to blame a text. Pure."""

import re

from penstock.errors import ThrottledError
from penstock.extensions.articles.embedders.options import Options
from penstock.extensions.articles.errors import EmbedderBusy, EmbedderExhausted, EmbedderMisconfigured, TextRefused
from penstock.providers.answer import Received
from penstock.providers.refusal import Refusal, refusal_of

_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_OUR_PARAMETERS = frozenset({"model", "dimensions", "encoding_format"})
_OUR_CODES = re.compile(r"model|api_key|auth|deployment", re.IGNORECASE)
# "This model's maximum context length is 512 tokens" is about the text, though it names the model.
_ABOUT_TEXT = re.compile(r"context length|token|too long|too large|\binput|\btext|character|content", re.IGNORECASE)
_ABOUT_US = re.compile(r"model|api.?key|dimension|encoding_format|deployment|authori[sz]", re.IGNORECASE)


def is_quota(received: Received, options: Options) -> bool:
    """A quota that is used up is told as 429 too, and does not come back in a second."""
    return received.status == 429 and _said(received, options).code in _NO_CREDIT


def refusal(received: Received, options: Options, wait_seconds: float) -> Exception:
    """``wait_seconds``: what the answer asked for, where it is 429."""
    host, status = options.host, received.status
    if status == 402 or is_quota(received, options):
        return EmbedderExhausted(
            f"The account at {host} has no credit left ({status}). Check its billing; the articles are tried again."
        )
    if status == 429:
        said = f"{host} asked to slow down; it is asked again in {wait_seconds:.1f} s."
        return ThrottledError(said, retry_after=wait_seconds, key=options.limiter_key)
    if status >= 500 or status in (408, 425):
        return EmbedderBusy(f"{host} answered {status}.", reached=True)
    if status in (400, 413, 422):
        return _not_taken(received, options)
    return EmbedderMisconfigured(_to_change(received, options))


def _to_change(received: Received, options: Options) -> str:
    host, status = options.host, received.status
    if status in (401, 403):
        # Without their words: some repeat the key.
        return f"{host} refused the key of embedder {options.name!r} ({status}). Check {_key(options)}."
    if status == 404:
        return (
            f"{host} knows no model {options.model!r} at {options.url}/embeddings (404). Check url and model of"
            f" embedder {options.name!r}."
        )
    if 300 <= status < 400:
        return (
            f"{host} sends callers elsewhere ({status}). Put the final address into url of embedder {options.name!r}."
        )
    return f"{host} does not answer as an embeddings endpoint ({status}). Check url of embedder {options.name!r}."


def _not_taken(received: Received, options: Options) -> Exception:
    said = _said(received, options)
    words = f": {said.message.rstrip('.')}" if said.message else ""
    if received.status == 400 and _about_us(said):
        hint = f"Check model, dimensions and send_dimensions of embedder {options.name!r}, and {_key(options)}."
        return EmbedderMisconfigured(f"{options.host} did not take the request ({received.status}){words}. {hint}")
    return TextRefused(
        f"{options.host} did not take the text ({received.status}){words}. Change the text, or lower most_characters"
        f" of embedder {options.name!r} where it is too long."
    )


def _about_us(said: Refusal) -> bool:
    """In doubt it is the text: others go on then, and the sentence says what the endpoint said."""
    if said.parameter is not None:
        return said.parameter in _OUR_PARAMETERS
    if said.code is not None and _OUR_CODES.search(said.code):
        return True
    return bool(_ABOUT_US.search(said.message)) and not _ABOUT_TEXT.search(said.message)


def _said(received: Received, options: Options) -> Refusal:
    return refusal_of(received.body, options.key)


def _key(options: Options) -> str:
    if options.key_variable is None:
        return "whether it needs a key: the embedders file names no key_variable for it"
    return f"the variable {options.key_variable}"
