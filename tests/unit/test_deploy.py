"""What `deploy/` names exists: variables, commands, images, ports, metrics; and stops are given enough time."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from penstock import version
from penstock.cli.app import root
from penstock.config import Settings, setting_fields
from penstock.console.http.metrics import METRICS
from penstock.extension import declared_settings
from penstock.observe.exposition import GAUGES

DEPLOY = Path(__file__).parents[2] / "deploy"
CONTAINERFILE = DEPLOY / "Containerfile"
MANIFESTS = DEPLOY / "kubernetes"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file() and path.name != ".env")
KILL_GRACE_SECONDS = Settings.model_fields["kill_grace_seconds"].default


def documents(path: Path) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one]


def objects() -> Iterator[dict[str, Any]]:
    for path in sorted(MANIFESTS.glob("*.yaml")):
        if path.name not in ("kustomization.yaml", "prometheus-adapter.example.yaml"):
            yield from documents(path)


def kind(name: str) -> list[dict[str, Any]]:
    return [one for one in objects() if one["kind"] == name]


def pod(one: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = one["spec"]["template"]["spec"]
    return spec


def containers(one: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod(one).get("initContainers", []), *pod(one)["containers"]]


def compose() -> dict[str, Any]:
    return documents(DEPLOY / "compose.yaml")[0]


def targets() -> dict[str, str]:
    """The text of each stage of the container file, by its name."""
    parts = re.split(r"^FROM (\S+) AS (\w+)$", CONTAINERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[2::3], parts[3::3], strict=True))


def copied() -> list[str]:
    """The paths that a build takes from the repository."""
    lines = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    return [path for line in lines for path in line.split()]


def listed(text: str, instruction: str) -> list[str]:
    """The words of an instruction in its list form."""
    found: list[str] = yaml.safe_load(re.findall(rf"^\s*{instruction} (\[.*\])$", text, re.MULTILINE)[-1])
    return found


def commands() -> Iterator[tuple[str, list[str]]]:
    """(where, words behind `penstock`) of everything that is run, and of what comments tell people to run."""
    for name in ("api", "worker"):
        yield f"Containerfile {name}", listed(targets()[name], "CMD")
    for name, service in compose()["services"].items():
        if service["image"].startswith("penstock-") and "command" in service:
            yield f"compose {name}", service["command"]
    for one in objects():
        if "template" in one.get("spec", {}):
            for container in containers(one):
                yield f"{one['kind']} {one['metadata']['name']} {container['name']}", container["args"]
    for unit in UNITS:
        (line,) = re.findall(r"^ExecStart=/opt/penstock/bin/penstock (.*)$", unit.read_text(), re.MULTILINE)
        yield unit.name, shlex.split(line.replace("%i", "9091"))
    for path in FILES:
        for line in re.findall(r"^# .*\bexec \w+ penstock (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            yield f"comment in {path.name}", shlex.split(line)


def images() -> Iterator[tuple[str, str]]:
    text = CONTAINERFILE.read_text(encoding="utf-8")
    given = {f"${{{name}}}": image for name, image in re.findall(r"^ARG (\w+)=(\S+)$", text, re.MULTILINE)}
    for image in re.findall(r"^FROM (\S+)", text, re.MULTILINE):
        if image not in targets():
            yield "Containerfile", given.get(image, image)
    for name, service in compose()["services"].items():
        yield f"compose {name}", service["image"]
    for one in objects():
        if "template" in one.get("spec", {}):
            for container in containers(one):
                yield one["metadata"]["name"], container["image"]


def option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


def test_every_variable_is_a_setting() -> None:
    known = {f"PENSTOCK_{name.upper()}" for name in setting_fields([Settings, *declared_settings()])}
    found = {(path.name, name) for path in FILES for name in re.findall(r"\bPENSTOCK_[A-Z_]+\b", path.read_text())}
    assert len(found) > 20
    assert not {one for one in found if one[1] not in known}


@pytest.mark.parametrize(("where", "words"), list(commands()), ids=[where for where, _ in commands()])
def test_a_command_and_its_options_exist(where: str, words: list[str]) -> None:
    command: Any = root()
    left = list(words)
    while hasattr(command, "get_command"):
        command = command.get_command(typer.Context(command), left.pop(0))
        assert command is not None, f"{where}: there is no {' '.join(words)}"
    # Parses without running: an option or a value that is not taken raises.
    context = command.make_context(command.name, left)
    assert not context.args, f"{where}: {context.args} are not taken"


def test_what_a_build_copies_exists_and_is_let_through() -> None:
    rules = (DEPLOY / "Containerfile.dockerignore").read_text().splitlines()
    paths = copied()
    assert len(paths) >= 5
    for path in paths:
        assert (DEPLOY.parent / path).exists(), path
    assert {rule[1:] for rule in rules if rule.startswith("!")} == set(paths)


def test_an_image_installs_only_what_has_a_locked_hash() -> None:
    installs = re.findall(r"pip install ([^&\n]*)", CONTAINERFILE.read_text(encoding="utf-8"))
    assert len(installs) == 3
    for arguments in installs:
        assert "--require-hashes" in arguments or "--no-index --no-deps" in arguments, arguments


def test_images_have_tags_and_ours_that_of_this_version() -> None:
    found = list(images())
    assert len(found) >= 10
    for where, image in found:
        name, _, tag = image.rpartition(":")
        assert name, f"{where}: {image} has no tag"
        assert tag != "latest", where
        if name.startswith("penstock-"):
            assert tag == version.VERSION, where
            assert name.removeprefix("penstock-") in targets(), where
    for image in documents(MANIFESTS / "kustomization.yaml")[0]["images"]:
        assert image["newTag"] == version.VERSION


@pytest.mark.parametrize("target", ["api", "worker"])
def test_a_container_listens_where_it_is_asked(target: str) -> None:
    text = targets()[target]
    port = option(listed(text, "CMD"), "--port")
    assert re.findall(r"^EXPOSE (\d+)$", text, re.MULTILINE) == [port]
    assert re.findall(r"http://127.0.0.1:(\d+)/healthz'", text) == [port]
    (deployment,) = [one for one in kind("Deployment") if one["metadata"]["name"] == f"penstock-{target}"]
    container = pod(deployment)["containers"][0]
    assert option(container["args"], "--port") == port
    assert [one["containerPort"] for one in container["ports"]] == [int(port)]
    assert deployment["spec"]["template"]["metadata"]["annotations"]["prometheus.io/port"] == port
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz"), ("startupProbe", "/healthz")):
        assert container[probe]["httpGet"] == {"path": path, "port": container["ports"][0]["name"]}
    assert "USER 10001" in targets()["runtime"]
    assert pod(deployment)["securityContext"]["runAsUser"] == 10001


def test_the_service_and_the_published_port_lead_to_the_api() -> None:
    port = option(listed(targets()["api"], "CMD"), "--port")
    (service,) = kind("Service")
    (deployment,) = [one for one in kind("Deployment") if one["metadata"]["name"] == "penstock-api"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert [one["targetPort"] for one in service["spec"]["ports"]] == ["http"]
    assert [one.rpartition(":")[2] for one in compose()["services"]["api"]["ports"]] == [port]
    (unit,) = [one.read_text() for one in UNITS if one.name == "penstock-api.service"]
    assert f"--port {port}" in unit


def test_everybody_gets_more_time_to_stop_than_the_grace() -> None:
    services = compose()["services"]
    for name in ("api", "worker"):
        grace = float(services[name]["environment"]["PENSTOCK_GRACE_SECONDS"])
        assert float(services[name]["stop_grace_period"].removesuffix("s")) > grace + KILL_GRACE_SECONDS
    example = (DEPLOY / "systemd" / "penstock.env.example").read_text()
    grace = float(re.findall(r"^PENSTOCK_GRACE_SECONDS=(\d+)$", example, re.MULTILINE)[0])
    for unit in UNITS:
        if "migrate" not in unit.name:
            (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", unit.read_text(), re.MULTILINE)
            assert float(seconds) > grace + KILL_GRACE_SECONDS, unit.name
    (settings,) = kind("ConfigMap")
    grace = float(settings["data"]["PENSTOCK_GRACE_SECONDS"]) + float(settings["data"]["PENSTOCK_KILL_GRACE_SECONDS"])
    for deployment in kind("Deployment"):
        stop = (
            pod(deployment)["containers"][0].get("lifecycle", {}).get("preStop", {"exec": {"command": ["sleep", "0"]}})
        )
        pause = float(stop["exec"]["command"][1])
        assert pod(deployment)["terminationGracePeriodSeconds"] > grace + pause, deployment["metadata"]["name"]


def test_scaling_goes_by_metrics_that_are_exposed_with_those_labels() -> None:
    labels = {name: labels for name, (labels, _) in GAUGES.items()} | {name: one[1] for name, one in METRICS.items()}
    (scaled,) = kind("ScaledObject")
    queries = [one["metadata"]["query"] for one in scaled["spec"]["triggers"]]
    (rule,) = documents(MANIFESTS / "prometheus-adapter.example.yaml")[0]["rules"]["external"]
    queries.append(rule["metricsQuery"].replace("<<.Series>>", rule["seriesQuery"].partition("{")[0]))
    for query in queries:
        (name,) = re.findall(r"\bpenstock_\w+", query)
        assert name in labels, query
        assert set(re.findall(r"by \((\w+)\)", query)) <= set(labels[name]), query
    (autoscaler,) = kind("HorizontalPodAutoscaler")
    assert [one["external"]["metric"]["name"] for one in autoscaler["spec"]["metrics"]] == [rule["name"]["as"]]
    assert autoscaler["spec"]["scaleTargetRef"]["name"] == scaled["spec"]["scaleTargetRef"]["name"] == "penstock-worker"
    # Schedules, callbacks and rescue need a worker, also when nothing waits.
    assert autoscaler["spec"]["minReplicas"] >= 1
    assert scaled["spec"]["minReplicaCount"] >= 1


def test_every_part_of_the_manifests_finds_the_others() -> None:
    for name in documents(MANIFESTS / "kustomization.yaml")[0]["resources"]:
        assert (MANIFESTS / name).is_file(), name
    named = {(one["kind"], one["metadata"]["name"]) for one in objects()}
    for one in objects():
        assert one["kind"] == "Namespace" or one["metadata"]["namespace"] == "penstock", one["metadata"]
        if "template" in one.get("spec", {}):
            for container in containers(one):
                for source in container["envFrom"]:
                    for reference, referred in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
                        assert reference not in source or (referred, source[reference]["name"]) in named
    for budget in kind("PodDisruptionBudget"):
        wanted = budget["spec"]["selector"]["matchLabels"]
        assert any(
            wanted.items() <= one["spec"]["template"]["metadata"]["labels"].items() for one in kind("Deployment")
        )


def test_the_secret_comes_after_its_namespace_and_names_no_broker_that_nobody_chose() -> None:
    for text in (MANIFESTS / "kustomization.yaml", DEPLOY.parent / "docs" / "fleet.md"):
        steps = re.findall(r"kubectl apply -\w (\S+)", text.read_text(encoding="utf-8"))
        assert steps[:3] == ["deploy/kubernetes/namespace.yaml", "secret.yaml", "deploy/kubernetes"], text.name
    (secret,) = kind("Secret")
    (settings,) = kind("ConfigMap")
    # An address of Redis alone moves the limits there.
    assert settings["data"]["PENSTOCK_TRANSPORT"] == "postgres"
    assert set(secret["stringData"]) == {"PENSTOCK_DATABASE_URL"}


def test_a_setting_in_the_file_of_compose_reaches_every_process_of_ours() -> None:
    for name in ("migrate", "api", "worker"):
        service = compose()["services"][name]
        assert service["env_file"] == [".env"], name
        # What is set here wins over the file, so nothing but addresses and what the file itself asks for may be.
        for variable, value in service["environment"].items():
            assert "$" in value or variable == "PENSTOCK_GRACE_SECONDS", (name, variable)


def test_the_page_says_how_everything_that_the_units_expect_comes_about() -> None:
    page = (DEPLOY.parent / "docs" / "fleet.md").read_text(encoding="utf-8")
    for unit in UNITS:
        text = unit.read_text()
        (program,), (user,), (settings,) = (
            re.findall(rf"^{name}=(\S+)", text, re.MULTILINE) for name in ("ExecStart", "User", "EnvironmentFile")
        )
        assert f"python3 -m venv {Path(program).parents[1]}\n" in page, unit.name
        assert re.search(rf"^useradd .* {user}$", page, re.MULTILINE), unit.name
        assert re.search(rf"^install .* {settings}\b", page, re.MULTILINE), unit.name
    assert "`PENSTOCK_APP` is `module:name`" in page


def test_compose_migrates_once_and_before_everybody_else() -> None:
    services = compose()["services"]
    assert services["migrate"]["command"] == ["migrate"]
    for name in ("api", "worker"):
        assert services[name]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    for name in ("postgres", "redis", "rabbitmq"):
        assert services[name]["healthcheck"]["test"]
        for volume in services[name]["volumes"]:
            assert volume.partition(":")[0] in compose()["volumes"]


def test_no_secret_is_written_down_and_all_that_is_asked_for_has_an_example() -> None:
    example = (DEPLOY / ".env.example").read_text()
    asked = set(re.findall(r"\$\{(\w+)[:}]", (DEPLOY / "compose.yaml").read_text()))
    assert asked == set(re.findall(r"^(\w+)=", example, re.MULTILINE))
    for path in FILES:
        for password in re.findall(r"://\w*:([^@\s]+)@", path.read_text(encoding="utf-8")):
            assert password == "change-me" or password.startswith("${"), (path.name, password)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed here")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for unit in UNITS:
        # Where the program is differs from machine to machine, and systemd wants to find it.
        text = unit.read_text().replace("/opt/penstock/bin/penstock", sys.executable)
        (tmp_path / unit.name.replace("@.", "@9091.")).write_text(text)
    paths = [str(path) for path in sorted(tmp_path.iterdir())]
    ended = subprocess.run(["systemd-analyze", "verify", *paths], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
