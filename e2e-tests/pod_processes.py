"""Plays the machines of a cluster: pods that are bound to them run as processes of this one.

A pod's container gets what a kubelet would give it: its variables, its volumes where it wants them, a read-only root,
its user and groups, an account's token, probes by its specification, SIGTERM and its grace period. It has an address of
its own, by ``Program.address_variables``, instead of a network; its image is a command that a test names. Pods whose
image has no command are ready at once and compute nothing.
"""

import base64
import contextlib
import http.client
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kube_cluster import ADDRESS, PORT, Cluster, KubeError, add_address, now, remove_address

ROUND_SECONDS = 0.25
POD_ROOT = Path(__file__).with_name("pod_root")
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


@dataclass(frozen=True)
class Program:
    """What stands for an image: a command, its variables, and what the image would hold besides."""

    command: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    address_variables: tuple[str, ...] = ()
    files: tuple[tuple[Path, str], ...] = ()


@dataclass
class Played:
    """A pod, and the process that stands for its container."""

    address: str
    folder: Path
    specification: dict
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    restarts: int = 0
    ready: bool = False
    phase: str = "Running"
    killed_at: float | None = None
    probed: dict[str, float] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    up: bool = False
    exit_codes: list[int] = field(default_factory=list)

    @property
    def container(self) -> dict:
        return self.specification["containers"][0]


class Machines:
    """Owns the machines and what runs on them, from ``start`` to ``close``."""

    def __init__(self, cluster: Cluster, folder: Path, image: Callable[[str], Program]) -> None:
        folder.mkdir()
        self.cluster = cluster
        self.folder = folder
        self.image = image
        self.pods: dict[str, Played] = {}
        self.ended: list[Played] = []
        self.failure: BaseException | None = None
        self._next = 10
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="machines", daemon=True)

    def add(self, name: str, gpus: int = 0, **labels: str) -> None:
        room = {"cpu": "64", "memory": "512Gi", "pods": "100"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
        metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}
        self.cluster.call("POST", "/api/v1/nodes", {"metadata": metadata})
        condition = {
            "type": "Ready",
            "status": "True",
            "reason": "Played",
            "lastHeartbeatTime": now(),
            "lastTransitionTime": now(),
        }
        status = {"capacity": room, "allocatable": room, "conditions": [condition]}
        self.cluster.patch_status(f"/api/v1/nodes/{name}", status)

    def start(self) -> "Machines":
        self._thread.start()
        return self

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
        for pod in self.pods.values():
            if pod.process and pod.process.poll() is None:
                pod.process.kill()
                pod.process.wait()

    def log(self) -> str:
        """The end of what each pod's container said."""
        texts = []
        for pod in (*self.ended[-4:], *self.pods.values()):
            file = pod.folder / "log"
            if file.exists():
                tail = "\n".join(file.read_text(errors="replace").splitlines()[-25:])
                texts.append(f"== {pod.folder.name} {pod.address} exit codes {pod.exit_codes}\n{tail}")
        return "\n".join(texts)

    def _run(self) -> None:
        while not self._closing.wait(ROUND_SECONDS):
            try:
                self._round()
            except (OSError, KubeError):
                continue  # seen again in the next round
            except BaseException as failure:
                self.failure = failure
                raise

    def _round(self) -> None:
        listed = {pod["metadata"]["uid"]: pod for pod in self.cluster.get("/api/v1/pods")["items"]}
        for uid, pod in listed.items():
            if "nodeName" not in pod["spec"] or pod["metadata"].get("name") is None:
                continue
            if uid not in self.pods:
                if "deletionTimestamp" in pod["metadata"]:
                    self._delete(pod)
                    continue
                self.pods[uid] = self._begin(pod)
            self._step(pod, self.pods[uid])
        for uid in [uid for uid in self.pods if uid not in listed]:
            self._forget(uid)

    def _forget(self, uid: str) -> None:
        pod = self.pods.pop(uid)
        if pod.process and pod.process.poll() is None:
            pod.process.kill()
            pod.process.wait()
        with contextlib.suppress(AssertionError):
            remove_address(pod.address)
        self.ended.append(pod)

    def _begin(self, pod: dict) -> Played:
        address = f"10.244.{self._next // 250}.{self._next % 250}"
        self._next += 1
        add_address(address)
        folder = self.folder / f"{pod['metadata']['name']}-{pod['metadata']['uid'][:8]}"
        folder.mkdir()
        return Played(address, folder, pod["spec"])

    def _step(self, pod: dict, played: Played) -> None:
        if "deletionTimestamp" in pod["metadata"]:
            self._end(pod, played)
            return
        program = self.image(played.container["image"])
        if played.phase == "Running":
            if program.command and (played.process is None or played.process.poll() is not None):
                if played.process is not None:
                    self._note_exit(played)
                if played.phase == "Running":
                    self._launch(pod, played, program)
            self._probe(played, bool(program.command))
        self._tell(pod, played)

    def _note_exit(self, played: Played) -> None:
        assert played.process is not None
        code = played.process.returncode
        played.exit_codes.append(code)
        if played.specification["restartPolicy"] == "Never":
            played.phase = "Succeeded" if code == 0 else "Failed"
            played.ready = False
        else:
            played.restarts += 1
            played.up = played.ready = False
            played.failures.clear()

    def _launch(self, pod: dict, played: Played, program: Program) -> None:
        specification, container = played.specification, played.container
        root = played.folder / "root"
        root.mkdir(exist_ok=True)
        mounts = played.folder / "mounts"
        lines = [f"ro {source} {target}" for source, target in program.files]
        lines += self._volumes(pod, played)
        mounts.write_text("\n".join(lines) + "\n")
        security = specification.get("securityContext", {})
        user = f"{security.get('runAsUser', 0)}:{security.get('runAsGroup', 0)}"
        arguments = [*container.get("command", ()), *container.get("args", ())]
        command = (*program.command, *container.get("args", ())) if not container.get("command") else arguments
        variables = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": "/tmp",
            "KUBERNETES_SERVICE_HOST": ADDRESS,
            "KUBERNETES_SERVICE_PORT": str(PORT),
            **program.variables,
            **dict.fromkeys(program.address_variables, played.address),
            **{each["name"]: each["value"] for each in container.get("env", ())},
        }
        namespaced = ["unshare", "--mount", "--", str(POD_ROOT), str(root), str(mounts), user]
        with (played.folder / "log").open("ab") as log:
            played.process = subprocess.Popen(
                [*namespaced, str(security.get("fsGroup", 0)), *command],
                env=variables,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        played.started = time.monotonic()

    def _volumes(self, pod: dict, played: Played) -> list[str]:
        """Lines for pod_root."""
        group = played.specification.get("securityContext", {}).get("fsGroup", 0)
        lines = [f"ro {self._hosts(played)} /etc/hosts"]
        if played.specification.get("automountServiceAccountToken", True):
            lines.append(f"ro {self._account(pod, played)} {ACCOUNT}")
        sources = {each["name"]: each for each in played.specification.get("volumes", ())}
        for mount in played.container.get("volumeMounts", ()):
            volume = sources[mount["name"]]
            if mount["mountPath"] == ACCOUNT:
                continue
            source, writable = self._volume(pod, volume, played.folder / "volumes" / mount["name"], group)
            access = "rw" if writable and not mount.get("readOnly") else "ro"
            lines.append(f"{access} {source / mount.get('subPath', '')} {mount['mountPath']}")
        # the shorter paths first, for one may lie in another
        return sorted(lines, key=lambda line: line.split()[2])

    def _volume(self, pod: dict, volume: dict, folder: Path, group: int) -> tuple[Path, bool]:
        namespace = pod["metadata"]["namespace"]
        folder.mkdir(parents=True, exist_ok=True)
        if "configMap" in volume:
            path = f"/api/v1/namespaces/{namespace}/configmaps/{volume['configMap']['name']}"
            for name, text in self.cluster.get(path)["data"].items():
                (folder / name).write_text(text)
            return folder, False
        if "secret" in volume:
            path = f"/api/v1/namespaces/{namespace}/secrets/{volume['secret']['secretName']}"
            for name, text in self.cluster.get(path)["data"].items():
                (folder / name).write_bytes(base64.b64decode(text))
                (folder / name).chmod(volume["secret"].get("defaultMode", 0o644))
                os.chown(folder / name, 0, group)
            return folder, False
        if "persistentVolumeClaim" in volume:
            claim = volume["persistentVolumeClaim"]
            path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{claim['claimName']}"
            bound = self.cluster.get(path)["spec"]["volumeName"]
            host = self.cluster.get(f"/api/v1/persistentvolumes/{bound}")["spec"]["hostPath"]["path"]
            return Path(host), not claim.get("readOnly")
        if "hostPath" in volume:
            return Path(volume["hostPath"]["path"]), True
        folder.chmod(0o777)  # emptyDir
        return folder, True

    def _account(self, pod: dict, played: Played) -> Path:
        namespace, account = pod["metadata"]["namespace"], played.specification["serviceAccountName"]
        folder = played.folder / "account"
        folder.mkdir(exist_ok=True)
        asked = {"spec": {"audiences": ["https://kubernetes.default.svc"], "expirationSeconds": 3600}}
        token = self.cluster.call("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token", asked)
        (folder / "token").write_text(token["status"]["token"])
        (folder / "namespace").write_text(namespace)
        (folder / "ca.crt").write_text(self.cluster.keys.authority.read_text())
        return folder

    def _hosts(self, played: Played) -> Path:
        """In the place of cluster DNS and of what forwards to endpoints: a ready one by its service's name."""
        lines = ["127.0.0.1 localhost"]
        for part in self.cluster.get("/apis/discovery.k8s.io/v1/endpointslices")["items"]:
            name = part["metadata"]["labels"].get("kubernetes.io/service-name")
            ready = [each for each in part.get("endpoints") or () if each["conditions"].get("ready")]
            if name and ready:
                lines.append(f"{ready[0]['addresses'][0]} {name}.{part['metadata']['namespace']}.svc")
        file = played.folder / "hosts"
        file.write_text("\n".join(lines) + "\n")
        return file

    def _probe(self, played: Played, runs: bool) -> None:
        if not runs or "readinessProbe" not in played.container:
            played.ready = played.phase == "Running"
            return
        if not played.up:
            played.up = self._passes(played, "startupProbe") is True
            if self._failed(played, "startupProbe"):
                played.process.kill()
            return
        passed = self._passes(played, "readinessProbe")
        if passed is not None:
            played.ready = passed or (played.ready and not self._failed(played, "readinessProbe"))
        self._passes(played, "livenessProbe")
        if self._failed(played, "livenessProbe"):
            played.process.kill()

    def _failed(self, played: Played, kind: str) -> bool:
        return played.failures.get(kind, 0) >= played.container[kind]["failureThreshold"]

    def _passes(self, played: Played, kind: str) -> bool | None:
        """None when it is not time for it yet."""
        probe = played.container[kind]
        if time.monotonic() < played.probed.get(kind, 0) + probe["periodSeconds"]:
            return None
        played.probed[kind] = time.monotonic()
        asked = probe["httpGet"]
        ports = {port["name"]: port["containerPort"] for port in played.container["ports"]}
        port = ports.get(asked["port"], asked["port"])
        connection = http.client.HTTPConnection(played.address, port, timeout=probe["timeoutSeconds"])
        try:
            connection.request("GET", asked["path"])
            passed = 200 <= connection.getresponse().status < 400
        except (OSError, http.client.HTTPException):
            passed = False
        finally:
            connection.close()
        played.failures[kind] = 0 if passed else played.failures.get(kind, 0) + 1
        return passed

    def _end(self, pod: dict, played: Played) -> None:
        process = played.process
        if process and process.poll() is None:
            if played.killed_at is None:
                process.send_signal(signal.SIGTERM)
                played.killed_at = time.monotonic() + pod["metadata"]["deletionGracePeriodSeconds"]
            elif time.monotonic() > played.killed_at:
                process.kill()
            else:
                self._probe(played, True)
                self._tell(pod, played)
            return
        if process:
            played.exit_codes.append(process.returncode)
        self._delete(pod)

    def _delete(self, pod: dict) -> None:
        with contextlib.suppress(KubeError):
            self.cluster.call("DELETE", path_of(pod), {"gracePeriodSeconds": 0})

    def _tell(self, pod: dict, played: Played) -> None:
        """Sends the status where it has changed."""
        truth = "True" if played.ready else "False"
        old = {each["type"]: each for each in pod["status"].get("conditions", ())}
        if (
            pod["status"].get("phase") == played.phase
            and old.get("Ready", {}).get("status") == truth
            and pod["status"].get("containerStatuses", [{}])[0].get("restartCount") == played.restarts
        ):
            return
        state: dict = {"running": {"startedAt": now()}}
        if played.phase != "Running":
            state = {"terminated": {"exitCode": played.exit_codes[-1], "startedAt": now(), "finishedAt": now()}}
        conditions = [
            {"type": kind, "status": status, "lastTransitionTime": now()}
            for kind, status in (("Initialized", "True"), ("ContainersReady", truth), ("Ready", truth))
        ]
        container = {
            "name": played.container["name"],
            "image": played.container["image"],
            "imageID": "",
            "ready": played.ready,
            "started": played.up,
            "restartCount": played.restarts,
            "state": state,
        }
        status = {
            "phase": played.phase,
            "podIP": played.address,
            "podIPs": [{"ip": played.address}],
            "hostIP": ADDRESS,
            "startTime": now(),
            "conditions": conditions,
            "containerStatuses": [container],
        }
        self.cluster.patch_status(path_of(pod), status)


def path_of(pod: dict) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
