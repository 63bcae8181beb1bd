"""What is stored, in the form of the wire."""

from dataclasses import asdict, fields
from typing import Any, cast

from penstock.apps.website_analysis.answer import Answer
from penstock.apps.website_analysis.facts import Facts
from penstock.apps.website_analysis.prompt import Prompt
from penstock.apps.website_analysis.scores import Scores
from penstock.apps.website_analysis.sites import Summary
from penstock.apps.website_analysis.views import AnalysisView, SiteDetails, SiteView
from penstock.apps.website_analysis.wire import (
    AnswerBody,
    PromptBody,
    SiteBody,
    SiteScores,
    StageBody,
    State,
)
from penstock.apps.website_analysis.wire_findings import EvidenceBody, Share, SiteFacts, SiteScoring
from penstock.service.job_wire import JobStep, counts_of


def analysis_fields(view: AnalysisView, *, waits_for_approval: bool) -> dict[str, Any]:
    """What the list and the detail share."""
    return {
        "job_id": view.job_id,
        "name": view.name,
        "owner": view.owner,
        "created_at": view.created_at,
        "queue_state": view.state.name,
        "current_step": view.current_step,
        "progress": view.progress,
        "counts": counts_of(view.counts),
        "total_sites": view.counts.total,
        "steps": [JobStep(**asdict(one)) for one in view.steps],
        "waits_for_approval": waits_for_approval,
        "options": dict(view.options),
    }


def site_body(site: SiteView) -> SiteBody:
    return SiteBody(
        site_id=site.site_id,
        url=site.url,
        state=cast("State", site.state.name),
        current_step=site.current_step,
        stage=site.stage,
        attempts=site.attempts,
        name=site.summary.name,
        scores=_scores(site.summary),
        error=site.error,
        why=site.why,
        edited=site.summary.edited,
        approved_at=site.summary.approved_at,
        updated_at=site.updated_at,
    )


def _scores(summary: Summary) -> SiteScores | None:
    if summary.coverage is None or summary.visibility is None:
        return None
    return SiteScores(
        coverage=Share(**summary.coverage),
        visibility=Share(**summary.visibility),
        unsupported=summary.unsupported or 0,
        cost=summary.cost or 0.0,
    )


def findings(found: SiteDetails) -> dict[str, Any]:
    return {
        "stages": [
            StageBody(stage=one.stage, version=one.version, run=one.run, reused_from=one.reused_from, at=one.at)
            for one in found.stages
        ],
        "facts": None if found.facts is None else SiteFacts.model_validate(Facts.from_json(found.facts)),
        "prompts": [prompt_body(one) for one in found.prompts],
        "next_prompts": None if found.next_prompts is None else [prompt_body(one) for one in found.next_prompts],
        "answers": [answer_body(one) for one in found.answers],
        "scores": None if found.scores is None else SiteScoring.model_validate(Scores.from_json(found.scores)),
    }


def prompt_body(prompt: Prompt) -> PromptBody:
    return PromptBody(**prompt.as_json())


def answer_body(answer: Answer) -> AnswerBody:
    details = answer.details
    given = {
        field.name: getattr(answer, field.name) for field in fields(answer) if field.name in AnswerBody.model_fields
    }
    return AnswerBody(
        **{**given, "evidence": [EvidenceBody.model_validate(one) for one in answer.evidence]},
        model_version=details.get("version"),
        reused_from_run=details.get("reused_from_run"),
        cut=bool(details.get("cut")),
        tokens_estimated=bool(details.get("tokens_estimated")),
        stopped_by_budget=details.get("stopped_by") == "budget",
    )
