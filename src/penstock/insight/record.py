"""How a record looks on the wire, for those that the HTTP API answers as they are."""

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

# camelCase; a field that is not known is refused. As `__pydantic_config__` of a record it makes the record a body.
WIRE = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")
