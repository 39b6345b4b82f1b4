"""The files in deploy/: whatever they name of the program (ports, paths, options, figures) exists in it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="needs the extra 'serve'")
from prometheus_client.parser import text_string_to_metric_families
from starlette.routing import Route

from tests.serve.running import free_port
from tests.serve.test_service import REQUESTS, SETTINGS
from troth.cli.serve import serve
from troth.serve import service
from troth.serve.settings import KEY

yaml = pytest.importorskip("yaml", reason="needs PyYAML")
ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PORT, METRICS_PORT = 8017, 9017
USER = 10001


def load(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text())


def dockerfile() -> list[tuple[str, str]]:
    """The instructions with their arguments; lines that are continued are joined."""
    text = re.sub(r"\\\n\s*", " ", (DEPLOY / "Dockerfile").read_text())
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def instructions(name: str) -> list[str]:
    return [rest for own, rest in dockerfile() if own == name]


def entrypoint() -> list[str]:
    (words,) = map(json.loads, instructions("ENTRYPOINT"))
    return list(words)


def paths() -> set[str]:
    return {route.path for route in service(SETTINGS).routes if isinstance(route, Route)} | {"/metrics"}


def check_arguments(arguments: list[str]) -> None:
    """An error where `troth serve` does not take these arguments after those of the image."""
    program, command, *own = entrypoint()
    assert (program, command) == ("troth", "serve")
    serve.make_context("serve", [*own, *arguments])


def test_the_image() -> None:
    names = [name for name, _ in dockerfile()]
    assert names.count("FROM") == 2, "what builds the package is not in the image"
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert instructions("USER") == [str(USER)]
    assert instructions("EXPOSE") == [f"{PORT} {METRICS_PORT}"]
    command = entrypoint()
    assert command[command.index("--port") + 1] == str(PORT)
    assert command[command.index("--metrics-address") + 1].endswith(f":{METRICS_PORT}")
    for words in instructions("CMD"):
        check_arguments(json.loads(words))
    (health,) = instructions("HEALTHCHECK")
    asked = re.search(r"http://127\.0\.0\.1:(\d+)(/\w+)", health)
    assert asked is not None
    assert (int(asked[1]), asked[2] in paths()) == (PORT, True)
    for copied in instructions("COPY"):
        if not copied.startswith("--from"):
            *sources, _ = shlex.split(copied)
            assert all((ROOT / source).exists() for source in sources), copied
    extras = re.search(r"^EXTRAS=(\w+)$", "\n".join(instructions("ARG")), re.MULTILINE)
    assert extras is not None
    assert f"\n{extras[1]} = [" in (ROOT / "pyproject.toml").read_text()
    installed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"][extras[1]]
    assert {"rouge-score", "troth[nli]"} <= {name.partition(">")[0] for name in installed}, "of the default metrics"
    assert any("troth models fetch" in run for run in instructions("RUN")), "models are fetched at build time"


def test_compose() -> None:
    services = load("compose.yaml")["services"]
    own = services["troth"]
    assert (ROOT / "deploy" / own["build"]["context"] / own["build"]["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    check_arguments(own["command"])
    assert KEY in own["environment"]
    assert own["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert {"prometheus", "grafana"} < set(services)
    for other in services.values():
        for volume in other.get("volumes", []):
            if volume.startswith("."):
                assert (DEPLOY / volume.split(":")[0]).exists(), volume


def test_kubernetes() -> None:
    deployment, exposed = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    pod = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    check_arguments(container["args"])
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http": PORT, "metrics": METRICS_PORT}
    probes = {kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness", "liveness")}
    assert {kind: probe["path"] for kind, probe in probes.items()} == {
        "startup": "/ready", "readiness": "/ready", "liveness": "/live",
    }  # fmt: skip
    assert {probe["path"] for probe in probes.values()} <= paths()
    assert {probe["port"] for probe in probes.values()} <= set(ports)
    assert {"cpu", "memory"} == set(container["resources"]["limits"])
    assert pod["spec"]["securityContext"]["runAsUser"] == USER
    assert {variable["name"] for variable in container["env"]} == {KEY, "NAMESPACE"}
    hosts = container["args"][container["args"].index("--hosts") + 1].split(",")
    assert {"troth", "troth.$(NAMESPACE).svc.cluster.local"} <= set(hosts)
    annotations = pod["metadata"]["annotations"]
    assert (annotations["prometheus.io/port"], annotations["prometheus.io/path"]) == (str(METRICS_PORT), "/metrics")
    assert exposed["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"]
    assert {port["targetPort"] for port in exposed["spec"]["ports"]} == set(ports)
    timeout = float(container["args"][container["args"].index("--timeout") + 1])
    program, pause = container["lifecycle"]["preStop"]["exec"]["command"]
    assert (program, float(pause) > 0) == ("sleep", True)
    grace = pod["spec"]["terminationGracePeriodSeconds"]
    assert grace >= float(pause) + timeout + 5, "what was accepted is answered"


def test_figures_of_the_dashboard_exist() -> None:
    app = service(SETTINGS)
    figures = app.state.figures
    figures.requests.labels("/ground", "200").inc()
    figures.seconds.labels("/ground").observe(0.1)
    figures.verdicts.labels("/ground", "unfaithful").inc()
    samples = [s for family in text_string_to_metric_families(figures.text().decode()) for s in family.samples]
    known: dict[str, set[str]] = {}
    for sample in samples:
        known.setdefault(sample.name, set()).update(sample.labels)
    dashboard = json.loads((DEPLOY / "grafana/dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(queries) >= 8
    for query in queries:
        names = re.findall(r"\btroth_\w+", query)
        assert names
        assert set(names) <= set(known), query
        labels = {label for name in names for label in known[name]}
        used = [label for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(", ")]
        used += re.findall(r"(\w+)=~?\"", query)
        assert set(used) <= labels, query
    sources = load("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    assert {panel["datasource"]["uid"] for panel in dashboard["panels"]} == {source["uid"] for source in sources}
    (scraped,) = load("prometheus.yaml")["scrape_configs"]
    assert scraped["static_configs"] == [{"targets": [f"troth:{METRICS_PORT}"]}]
    (provider,) = load("grafana/provisioning/dashboards/troth.yaml")["providers"]
    mounted = [volume.split(":")[1] for volume in load("compose.yaml")["services"]["grafana"]["volumes"]]
    assert any(path.startswith(provider["options"]["path"]) for path in mounted)


@pytest.mark.slow
def test_the_command_of_the_image_runs(tmp_path: Path) -> None:
    """With other ports, and models that need no file."""
    port, metrics_port = free_port(), free_port()
    own = [text.replace(str(METRICS_PORT), str(metrics_port)) for text in entrypoint()[1:]]
    command = [str(port) if text == str(PORT) else text for text in own]
    fakes = ["--nli", "fake", "--lm", "fake", "--metrics", "nli"]
    with (tmp_path / "log").open("wb") as log:
        running = subprocess.Popen([sys.executable, "-m", "troth", *command, *fakes, "--hosts", "troth"], stderr=log)
    try:
        url, end, ready = f"http://127.0.0.1:{port}", time.monotonic() + 120, 0
        while ready != 200 and time.monotonic() < end and running.poll() is None:
            try:
                ready = httpx.get(f"{url}/ready", timeout=5).status_code
            except httpx.TransportError:
                ready = 0
            time.sleep(0.05)
        assert ready == 200, (tmp_path / "log").read_text()
        asked = httpx.post(f"{url}/ground", json=REQUESTS["/ground"], headers={"Host": "troth:8017"}, timeout=30)
        assert asked.status_code == 200
        assert httpx.get(f"{url}/metrics", timeout=5).status_code == 404
        figures = httpx.get(f"http://127.0.0.1:{metrics_port}/metrics", timeout=5).text
        assert 'troth_requests_total{path="/ground",status="200"} 1.0' in figures
        assert "troth_ready 1.0" in figures
    finally:
        running.terminate()
        running.wait(60)
    assert running.returncode == 0
