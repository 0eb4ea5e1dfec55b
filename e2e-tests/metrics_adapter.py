"""A real prometheus-adapter: what a HorizontalPodAutoscaler asks of the custom metrics API, out of a Prometheus.

Of Kubernetes there is only as much as the adapter asks for: which resources there are, which pods, and that anybody may
read the metrics.
"""

import json
import ssl
import subprocess
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

import client_tools
from worker_process import free_ports

MODULE = Path(__file__).parent / "metrics-adapter"
PACKAGE = "sigs.k8s.io/prometheus-adapter/cmd/adapter"
NAMESPACE = "serving"
API = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/{NAMESPACE}/pods"


class Kubernetes:
    """An API server with these pods in one namespace."""

    def __init__(self, *pods: str) -> None:
        names = [{"metadata": {"name": pod, "namespace": NAMESPACE}} for pod in pods]
        verbs = ["get", "list"]
        answers: dict[str, Any] = {
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
            "/api/v1": {
                "kind": "APIResourceList",
                "groupVersion": "v1",
                "resources": [
                    {"name": "namespaces", "kind": "Namespace", "namespaced": False, "verbs": verbs},
                    {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": verbs},
                ],
            },
            f"/api/v1/namespaces/{NAMESPACE}/pods": {
                "kind": "PartialObjectMetadataList",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": {},
                "items": names,
            },
            "/apis/authorization.k8s.io/v1/subjectaccessreviews": {
                "kind": "SubjectAccessReview",
                "apiVersion": "authorization.k8s.io/v1",
                "status": {"allowed": True},
            },
        }

        class Answers(BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                found = answers.get(urlsplit(self.path).path)
                body = json.dumps(found or {"kind": "Status", "apiVersion": "v1", "code": 404}).encode()
                self.send_response(404 if found is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = answer  # noqa: N815  # as the base class looks for them

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def write_access(self, file: Path) -> Path:
        """How the adapter reaches it, as kubectl would."""
        context = {"name": "test", "context": {"cluster": "test", "user": "test"}}
        cluster = {"name": "test", "cluster": {"server": f"http://127.0.0.1:{self.server.server_port}"}}
        access = {"apiVersion": "v1", "kind": "Config", "current-context": "test"}
        access |= {"contexts": [context], "clusters": [cluster], "users": [{"name": "test", "user": {}}]}
        file.write_text(yaml.safe_dump(access))
        return file

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class MetricsAdapter:
    def __init__(self, folder: Path, values: Path, prometheus: int, kubernetes: Kubernetes) -> None:
        """``values`` are those of the adapter's chart, which hands ``rules.custom`` on as ``rules``."""
        configuration = folder / "adapter.yaml"
        configuration.write_text(yaml.safe_dump({"rules": yaml.safe_load(values.read_text())["rules"]["custom"]}))
        access = kubernetes.write_access(folder / "access.yaml")
        self.port = free_ports().http
        command = [
            client_tools.go_module(MODULE, "adapter", PACKAGE),
            f"--config={configuration}",
            f"--prometheus-url=http://127.0.0.1:{prometheus}",
            f"--lister-kubeconfig={access}",
            f"--authentication-kubeconfig={access}",
            f"--authorization-kubeconfig={access}",
            "--authentication-skip-lookup",
            "--metrics-relist-interval=2s",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--cert-dir={folder / 'certificates'}",
        ]
        self.log = folder / "adapter.log"
        with self.log.open("w") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out)

    def values(self, metric: str) -> dict[str, float]:
        """By pod, as an autoscaler asks for them; empty while there are none."""
        assert self.process.poll() is None, self.log.read_text()
        anyone = ssl._create_unverified_context()  # the adapter has just made its certificate itself
        try:
            with urllib.request.urlopen(
                f"https://127.0.0.1:{self.port}{API}/*/{metric}", timeout=10, context=anyone
            ) as response:
                items = json.load(response)["items"]
        except OSError:  # not there yet, or not that metric
            return {}
        return {each["describedObject"]["name"]: quantity(each["value"]) for each in items}

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def quantity(text: str) -> float:
    """A number as Kubernetes writes it: ``512m`` is 0.512."""
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)
