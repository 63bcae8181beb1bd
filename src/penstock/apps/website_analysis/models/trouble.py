"""How a call to an endpoint can go wrong, where that differs in what has to follow."""

from penstock.errors import PermanentError, TransientError


class ModelRefused(PermanentError):
    """No call to this model will work (wrong key, unknown model, no credit): nobody asks it again for this site."""


class AnswerLost(TransientError):
    """The question went out and no usable answer came back: it may have been charged for all the same."""


class EndpointDown(TransientError):
    """The endpoint has failed so often in a row that there is no use in asking it anything else for now."""
