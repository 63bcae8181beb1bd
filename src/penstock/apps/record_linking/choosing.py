"""Which entity a reviewer accepts: a candidate, or one that they know better than the search does."""

import re
from typing import TYPE_CHECKING, Any

from penstock.apps.record_linking import candidates, decisions
from penstock.apps.record_linking.decisions import Target
from penstock.apps.record_linking.project import LIKE_WIKIDATA, Project
from penstock.apps.record_linking.record import Record
from penstock.apps.record_linking.states import RecordState
from penstock.errors import InvalidSetting, UsageError

if TYPE_CHECKING:
    from penstock.apps.record_linking.shared import RecordLinking

# Items only: properties (P31) and lexemes (L1) are no things that a record could mean.
_WIKIDATA_ID = re.compile(r"Q[1-9][0-9]{0,9}")
_OTHER_ID = re.compile(r"[^\s\x00-\x1f\x7f]{1,200}")


async def chosen(
    linking: "RecordLinking", connection: Any, project: Project, record: Record, entity: str | None
) -> Target:
    """``entity`` None: the best candidate."""
    found = await candidates.of_record(connection, record.id)
    if entity is None and not found:
        raise UsageError(
            f"Record {record.number} has no candidate to accept. Give the id of what it is, or reject the record."
        )
    one = found[0] if entity is None else next((each for each in found if each.entity == entity), None)
    if one is not None:
        return Target(state=RecordState.ACCEPTED, entity=one.entity, label=one.label, score=one.score)
    assert entity is not None
    return await _by_hand(linking, connection, project, entity)


async def _by_hand(linking: "RecordLinking", connection: Any, project: Project, entity: str) -> Target:
    """No candidate, but somebody knows better: its label is what the cache knows of it, else the id itself."""
    pattern, example = (
        (_WIKIDATA_ID, "Q42") if project.source in LIKE_WIKIDATA else (_OTHER_ID, "a text without spaces")
    )
    if pattern.fullmatch(entity) is None:
        raise InvalidSetting("entity", entity[:100], f"ids of {project.source} look like {example}")
    known = await decisions.cached_label(connection, project.source, entity)
    if known is not None and known.missing:
        raise InvalidSetting("entity", entity[:100], f"{project.source} says that there is no such thing")
    if known is None or known.entity is None:
        return Target(state=RecordState.ACCEPTED, entity=entity, label=entity)
    languages = linking.options_of(project).languages
    return Target(state=RecordState.ACCEPTED, entity=known.id, label=known.entity.label(languages))
