"""A Kubernetes control plane of real programs: etcd, API server, controller manager and scheduler.

They listen in a network of their own (``./roundhouse test --cluster`` makes one for the whole test), so no port is
taken from the machine. There is no kubelet: ``pod_processes`` plays it.
"""

import contextlib
import json
import os
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from worker_process import wait_until

ADDRESS = "10.88.0.1"
PORT = 6443
SERVICE_ADDRESSES = "10.96.0.0/16"
SERVICE_ADDRESS = "10.96.0.1"  # of the API server, for pods
START_SECONDS = 180
CALL_SECONDS = 60


class KubeError(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


def run(*command: str | Path, seconds: float = CALL_SECONDS, stdin: str | None = None, **variables: str) -> str:
    """What a program says on stdout; AssertionError with its stderr when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=seconds,
        input=stdin,
        env=os.environ | variables,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stderr}"
    return done.stdout


def add_address(address: str) -> None:
    """Of this network's loopback; endpoints must not be in 127.0.0.0/8."""
    run("ip", "address", "add", f"{address}/32", "dev", "lo")


def remove_address(address: str) -> None:
    run("ip", "address", "del", f"{address}/32", "dev", "lo")


class Keys:
    """A certificate authority and what it has signed, in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.authority = folder / "ca.crt"
        self._key = folder / "ca.key"
        subject = ["-subj", "/CN=test-authority", "-keyout", self._key, "-out", self.authority]
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject)
        run("openssl", "genrsa", "-out", folder / "accounts.key", "2048")
        run("openssl", "rsa", "-in", folder / "accounts.key", "-pubout", "-out", folder / "accounts.pub")

    def sign(self, name: str, subject: str, *names: str) -> tuple[Path, Path]:
        """Certificate and key, for a server where it has names, else for a client."""
        key, request, signed, extensions = (self.folder / f"{name}.{end}" for end in ("key", "csr", "crt", "ext"))
        kind = f"subjectAltName={','.join(names)}" if names else "extendedKeyUsage=clientAuth"
        extensions.write_text(kind + "\n")
        run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", key, "-out", request)
        by = ["-CA", self.authority, "-CAkey", self._key, "-CAcreateserial", "-extfile", extensions]
        run("openssl", "x509", "-req", "-in", request, "-days", "2", "-out", signed, *by)
        return signed, key


class Cluster:
    """Owns its processes from construction to ``close``."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs = programs
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.keys = Keys(folder / "keys")
        names = (f"IP:{ADDRESS}", f"IP:{SERVICE_ADDRESS}", "DNS:kubernetes.default.svc")
        self.keys.sign("server", "/CN=kube-apiserver", *names)
        certificate, key = self.keys.sign("admin", "/O=system:masters/CN=admin")
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(kubeconfig(self.keys.authority, certificate, key))
        self._tls = ssl.create_default_context(cafile=str(self.keys.authority))
        self._tls.load_cert_chain(str(certificate), str(key))

    def start(self) -> "Cluster":
        add_address(ADDRESS)
        keys = self.keys.folder
        store = "http://127.0.0.1:2379"
        self._launch(
            "etcd",
            f"--data-dir={self.folder}/etcd",
            f"--listen-client-urls={store}",
            f"--advertise-client-urls={store}",
            "--unsafe-no-fsync",
        )
        self._launch(
            "kube-apiserver",
            f"--etcd-servers={store}",
            f"--bind-address={ADDRESS}",
            f"--advertise-address={ADDRESS}",
            f"--secure-port={PORT}",
            f"--client-ca-file={self.keys.authority}",
            f"--tls-cert-file={keys}/server.crt",
            f"--tls-private-key-file={keys}/server.key",
            f"--service-account-key-file={keys}/accounts.pub",
            f"--service-account-signing-key-file={keys}/accounts.key",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-cluster-ip-range={SERVICE_ADDRESSES}",
            "--authorization-mode=Node,RBAC",
            f"--cert-dir={keys}",
            # of kubelets, for logs of pods
            f"--kubelet-client-certificate={keys}/admin.crt",
            f"--kubelet-client-key={keys}/admin.key",
            "--kubelet-preferred-address-types=InternalIP",
        )
        wait_until(self._answers, START_SECONDS, "the API server ready")
        common = (f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1")
        self._launch(
            "kube-controller-manager",
            *common,
            f"--service-account-private-key-file={keys}/accounts.key",
            f"--root-ca-file={self.keys.authority}",
            "--use-service-account-credentials",
            # machines that are played send no heartbeats
            "--node-monitor-grace-period=24h",
        )
        self._launch("kube-scheduler", *common)
        wait_until(
            lambda: self.exists("/api/v1/namespaces/default/serviceaccounts/default"),
            START_SECONDS,
            "the controller manager's first account",
        )
        return self

    def close(self) -> None:
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in reversed(self.processes.values()):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        with contextlib.suppress(AssertionError):
            remove_address(ADDRESS)

    def log(self) -> str:
        """The end of what each program said."""
        return "\n".join(
            f"== {name}\n" + "\n".join((self.folder / f"{name}.log").read_text(errors="replace").splitlines()[-15:])
            for name in self.processes
        )

    def kubectl(self, *arguments: str, stdin: str | None = None, seconds: float = CALL_SECONDS) -> str:
        return run(
            self.programs / "kubectl", f"--kubeconfig={self.kubeconfig}", *arguments, stdin=stdin, seconds=seconds
        )

    def call(self, method: str, path: str, body: object = None, kind: str = "application/json") -> dict:
        """What the API server answers; KubeError with its status when it refuses."""
        request = urllib.request.Request(
            f"https://{ADDRESS}:{PORT}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": kind},
        )
        try:
            with urllib.request.urlopen(request, timeout=CALL_SECONDS, context=self._tls) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise KubeError(error.code, error.read().decode()) from error
        return json.loads(text) if text.startswith("{") else {}

    def get(self, path: str) -> dict:
        return self.call("GET", path)

    def exists(self, path: str) -> bool:
        try:
            self.get(path)
        except KubeError as error:
            if error.code == 404:
                return False
            raise
        return True

    def patch_status(self, path: str, status: dict) -> None:
        self.call("PATCH", f"{path}/status", {"status": status}, "application/strategic-merge-patch+json")

    def _answers(self) -> bool:
        for name, process in self.processes.items():
            assert process.poll() is None, f"{name} ended:\n{self.log()}"
        try:
            self.get("/readyz")
        except (OSError, KubeError):
            return False
        return True

    def _launch(self, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.log").open("w") as log:
            self.processes[name] = subprocess.Popen(
                [str(self.programs / name), *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )


def kubeconfig(authority: Path, certificate: Path, key: Path) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            "clusters": [
                {
                    "name": "test",
                    "cluster": {"server": f"https://{ADDRESS}:{PORT}", "certificate-authority": str(authority)},
                }
            ],
            "users": [{"name": "admin", "user": {"client-certificate": str(certificate), "client-key": str(key)}}],
        }
    )


def need(program: str) -> str:
    found = shutil.which(program)
    assert found, f"'{program}' is missing; the cluster needs it"
    return found


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
