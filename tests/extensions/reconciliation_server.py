"""A reconciliation service (version 0.2) on loopback about a list of made-up things.

async with ReconciliationServer([thing("b1", "Gullhaven", "town", P1082=[{"int": 812}])], most=100) as server:
    load(..., linking_reconciliation_url=server.url)
    server.batches      # the questions of every call that was answered
    server.extensions   # the ids and properties of every data extension
"""

from collections import deque
from typing import Any

import orjson

from tests.extensions.quick_http import QuickServer, Reply, Request
from tests.extensions.wikidata_world import folded

PATH = "/reconcile"


def thing(id: str, name: str, type: str, **properties: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": id, "name": name, "type": type, "properties": properties}


class ReconciliationServer(QuickServer):
    """``most``: the best score, 1 or 100. ``batch_size`` and ``extends``: what the manifest says. ``refuses``: a call
    with this text in a question gets 400."""

    def __init__(
        self, things: list[dict[str, Any]], *, most: float = 100.0, batch_size: int | None = None, extends: bool = True
    ) -> None:
        super().__init__()
        self.things = things
        self.most = most
        self.batch_size = batch_size
        self.extends = extends
        self.refuses: str | None = None
        self.batches: list[list[dict[str, Any]]] = []
        self.extensions: list[dict[str, Any]] = []
        self.requests: list[Request] = []
        self.answers: deque[Reply] = deque()

    @property
    def url(self) -> str:
        return f"{self.origin}{PATH}"

    def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        if self.answers:
            return self.answers.popleft()
        if request.path == "/properties":
            names = dict.fromkeys(name for one in self._of(request.fields["type"]) for name in one["properties"])
            return _reply({"type": request.fields["type"], "properties": [{"id": one, "name": one} for one in names]})
        if request.path != PATH:
            return Reply(status=404, body=b"{}")
        if "queries" in request.fields:
            return self._queries(orjson.loads(request.fields["queries"]))
        if "extend" in request.fields:
            return self._extend(orjson.loads(request.fields["extend"]))
        return _reply(self._manifest())

    def _manifest(self) -> dict[str, Any]:
        types = dict.fromkeys(one["type"] for one in self.things)
        space = "https://example.org/things/"
        told: dict[str, Any] = {"versions": ["0.2"], "name": "Things", "identifierSpace": space, "schemaSpace": space}
        told["defaultTypes"] = [{"id": one, "name": one} for one in types]
        if self.batch_size is not None:
            told["batchSize"] = self.batch_size
        if self.extends:
            told["extend"] = {"propose_properties": {"service_url": self.origin, "service_path": "/properties"}}
        return told

    def _queries(self, queries: dict[str, Any]) -> Reply:
        if self.refuses is not None and any(self.refuses in one["query"] for one in queries.values()):
            return Reply(status=400, body=orjson.dumps({"error": {"message": "That cannot be asked."}}))
        self.batches.append(list(queries.values()))
        return _reply({key: {"result": self._result(one)} for key, one in queries.items()})

    def _result(self, query: dict[str, Any]) -> list[dict[str, Any]]:
        asked, types = folded(query["query"]), query.get("type", [])
        types = [types] if isinstance(types, str) else types
        found = []
        for one in self.things:
            exact = asked in (folded(one["name"]), one["id"])
            if (exact or asked in folded(one["name"])) and (not types or one["type"] in types):
                score = self.most if exact else self.most / 2
                features = [{"id": "name", "value": score / self.most}]
                told = {"score": score, "match": exact, "features": features, "type": [{"id": one["type"], "name": ""}]}
                found.append({"id": one["id"], "name": one["name"], "description": f"a {one['type']}"} | told)
        return sorted(found, key=lambda one: -one["score"])[: query.get("limit", 10)]

    def _extend(self, asked: dict[str, Any]) -> Reply:
        self.extensions.append(asked)
        names = [one["id"] for one in asked["properties"]]
        known = {one["id"]: one["properties"] for one in self.things}
        rows = {id: {name: known.get(id, {}).get(name, []) for name in names} for id in asked["ids"]}
        return _reply({"meta": [{"id": name, "name": name} for name in names], "rows": rows})

    def _of(self, type: str) -> list[dict[str, Any]]:
        return [one for one in self.things if one["type"] == type]


def _reply(data: Any) -> Reply:
    return Reply(body=orjson.dumps(data))
