"""A node of a cluster with what a real one has: containerd and runc, a kubelet, kube-proxy and cluster DNS.

For a process that has networks, mounts and process ids of its own (``./roundhouse test --kubelet`` makes them), so that
nothing of the machine's is changed but control groups, which ``close`` removes. Pods have addresses by CNI's plug-in
ptp: each is routed to by the node, so that Services work between pods without the bridge's netfilter.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from kube_cluster import ADDRESS, SERVICE_ADDRESSES, Cluster, KubeError, kubeconfig, run
from worker_process import wait_until

NAME = "node-0"
POD_ADDRESSES = "10.89.0.0/24"
DOMAIN = "cluster.local"
PAUSE = "roundhouse-pause:e2e"
CNI_PLUGINS = Path("/usr/lib/cni")
# where they write whatever they are told
COVERED = ("/run", "/var/lib/cni", "/var/log/containers")
PROGRAMS = ("containerd", "ctr", "runc", "iptables", "ip")
START_SECONDS = 120
STOP_SECONDS = 60


def obstacle() -> str:
    """Why there can be no node here; empty where there can."""
    if os.geteuid() != 0:
        return "a node needs root"
    if missing := [name for name in PROGRAMS if not shutil.which(name)]:
        return f"a node needs {', '.join(missing)} (Debian: containerd, runc, iptables, iproute2)"
    if not (CNI_PLUGINS / "ptp").exists():
        return f"a node needs CNI's plug-ins in {CNI_PLUGINS} (Debian: containernetworking-plugins)"
    return control_groups_obstacle()


def check_isolation() -> None:
    """So that no machine is changed by a test that is started without what shields it."""
    links = {link["ifname"] for link in json.loads(run("ip", "-json", "link")) if "UP" in link["flags"]}
    assert links == {"lo"}, (
        f"a node wants networks, mounts and process ids of its own, and found {', '.join(sorted(links))}:"
        " ./roundhouse test --kubelet makes them"
    )


def control_groups_obstacle() -> str:
    if not Path("/dev/kmsg").exists():
        return "a kubelet reads /dev/kmsg, which is not there"
    try:
        for group in control_groups(f"probe-{os.getpid()}"):
            group.mkdir()
            group.rmdir()
    except OSError as error:
        return f"control groups cannot be made: {error}"
    return ""


def control_groups(name: str) -> list[Path]:
    """A group of that name in every hierarchy."""
    mounted = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [Path(place) / name for _, place, kind, *_ in mounted if kind in ("cgroup", "cgroup2")]


class Node:
    """Owns its programs, its pods' containers, their mounts and control groups, from ``start`` to ``close``."""

    def __init__(self, cluster: Cluster, coredns: Path) -> None:
        self.cluster = cluster
        self.coredns = coredns
        # a socket's path has room for 107 characters, which pytest's folders leave little of
        self.folder = Path(tempfile.mkdtemp(prefix="rh-node-"))
        self.folder.chmod(0o711)  # pods are not root
        self.socket = self.folder / "c.sock"
        self.group = self.folder.name
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._covered: list[Path] = []
        self._made: list[Path] = []

    def start(self, *archives: Path) -> "Node":
        """Of archives of images, beside that of ``PAUSE``, a pod's first container."""
        self._cover()
        self._start_containerd()
        for archive in archives:
            self.load(archive)
        self._start_kubelet()
        self._start_proxy()
        self._start_dns()
        try:
            wait_until(self._is_ready, START_SECONDS, "the node ready")
        except AssertionError as error:
            error.add_note(self.log())
            raise
        return self

    def load(self, archive: Path) -> None:
        run("ctr", f"--address={self.socket}", "--namespace=k8s.io", "images", "import", archive, seconds=600)

    def close(self) -> None:
        """Ends pods' containers with the node: whatever they were doing."""
        for name in ("coredns", "kube-proxy", "kubelet"):
            self._end(name)
        for pid in self.container_pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if "containerd" in self.processes:
            with contextlib.suppress(AssertionError):
                wait_until(lambda: not self.container_pids(), STOP_SECONDS, "the end of the containers")
        self._end("containerd")
        for pid in self._shims():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._unmount()
        self._remove_groups()
        shutil.rmtree(self.folder, ignore_errors=True)

    def container_pids(self) -> list[int]:
        found = set()
        for group in control_groups(self.group):
            for tasks in group.glob("**/cgroup.procs"):
                with contextlib.suppress(OSError):
                    found |= {int(pid) for pid in tasks.read_text().split()}
        return sorted(found - {0})

    def log(self) -> str:
        """The end of what each program said."""
        return "\n".join(
            f"== {name}\n" + "\n".join((self.folder / f"{name}.log").read_text(errors="replace").splitlines()[-25:])
            for name in self.processes
        )

    def _cover(self) -> None:
        for place in map(Path, COVERED):
            if not place.exists():
                place.mkdir()
                self._made.append(place)
            run("mount", "-t", "tmpfs", "roundhouse", place)
            self._covered.append(place)

    def _start_containerd(self) -> None:
        plugins = self.folder / "cni"
        plugins.mkdir()
        network = {
            "cniVersion": "0.4.0",
            "name": "pods",
            "plugins": [
                {
                    "type": "ptp",
                    "ipam": {
                        "type": "host-local",
                        "dataDir": str(self.folder / "addresses"),
                        "ranges": [[{"subnet": POD_ADDRESSES}]],
                        "routes": [{"dst": "0.0.0.0/0"}],
                    },
                }
            ],
        }
        (plugins / "10-pods.conflist").write_text(json.dumps(network))
        configuration = self.folder / "containerd.toml"
        configuration.write_text(
            f"""\
version = 2
root = "{self.folder}/root"
state = "{self.folder}/state"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = "{self.socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI_PLUGINS}"
    conf_dir = "{plugins}"
"""
        )
        self._launch("containerd", "containerd", f"--config={configuration}")
        wait_until(self._containerd_answers, START_SECONDS, "containerd")

    def _containerd_answers(self) -> bool:
        self._look_after("containerd")
        told = subprocess.run(["ctr", f"--address={self.socket}", "version"], capture_output=True, timeout=30)
        return told.returncode == 0

    def _start_kubelet(self) -> None:
        for group in control_groups(self.group):
            group.mkdir(exist_ok=True)
            for name in ("cpuset.cpus", "cpuset.mems"):  # a new group of version 1 has none, and then no process
                if (group / name).exists():
                    (group / name).write_text((group.parent / name).read_text())
        configuration = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": ADDRESS,
            "healthzPort": 0,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": False},
                "x509": {"clientCAFile": str(self.cluster.keys.authority)},
            },
            "authorization": {"mode": "AlwaysAllow"},
            "containerRuntimeEndpoint": f"unix://{self.socket}",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self.group}",
            "enforceNodeAllocatable": [],
            "failCgroupV1": False,
            "failSwapOn": False,
            "clusterDNS": [ADDRESS],
            "clusterDomain": DOMAIN,
            "resolvConf": "",
            "volumePluginDir": str(self.folder / "volume-plugins"),
            "podLogsDir": str(self.folder / "logs"),
            # a full disk of the machine's is no concern of these pods
            "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"},
            "imageGCHighThresholdPercent": 100,
        }
        file = self.folder / "kubelet.yaml"
        file.write_text(json.dumps(configuration))
        self._launch(
            "kubelet",
            str(self.cluster.programs / "kubelet"),
            f"--config={file}",
            f"--kubeconfig={self._kubeconfig('kubelet', f'/O=system:nodes/CN=system:node:{NAME}')}",
            f"--root-dir={self.folder}/kubelet",
            f"--cert-dir={self.folder}/kubelet-keys",
            f"--hostname-override={NAME}",
            f"--node-ip={ADDRESS}",
        )

    def _start_proxy(self) -> None:
        # what the node itself asks of a Service needs a route, before it is sent elsewhere
        run("ip", "route", "replace", SERVICE_ADDRESSES, "dev", "lo", "src", ADDRESS)
        self._launch(
            "kube-proxy",
            str(self.cluster.programs / "kube-proxy"),
            f"--kubeconfig={self._kubeconfig('kube-proxy', '/CN=system:kube-proxy')}",
            f"--hostname-override={NAME}",
            f"--cluster-cidr={POD_ADDRESSES}",
            "--proxy-mode=iptables",
            "--conntrack-max-per-core=0",
            "--conntrack-tcp-timeout-established=0",
            "--conntrack-tcp-timeout-close-wait=0",
            f"--healthz-bind-address={ADDRESS}:10256",
            "--metrics-bind-address=127.0.0.1:10249",
        )

    def _start_dns(self) -> None:
        key = self._kubeconfig("coredns", "/CN=coredns")
        file = self.folder / "Corefile"
        file.write_text(f"""\
.:53 {{
    bind {ADDRESS}
    errors
    kubernetes {DOMAIN} {{
        kubeconfig {key}
        ttl 5
    }}
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
""")
        allowed = [
            {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": ["list", "watch"]},
            {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
        ]
        path = "/apis/rbac.authorization.k8s.io/v1"
        self.cluster.call("POST", f"{path}/clusterroles", {"metadata": {"name": "coredns"}, "rules": allowed})
        binding = {
            "metadata": {"name": "coredns"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "coredns"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "coredns"}],
        }
        self.cluster.call("POST", f"{path}/clusterrolebindings", binding)
        self._launch("coredns", str(self.coredns), f"-conf={file}")

    def _kubeconfig(self, name: str, subject: str) -> Path:
        file = self.folder / f"{name}.kubeconfig"
        keys = self.cluster.keys
        file.write_text(kubeconfig(keys.authority, *keys.sign(name, subject)))
        return file

    def _is_ready(self) -> bool:
        for name in self.processes:
            self._look_after(name)
        try:
            conditions = self.cluster.get(f"/api/v1/nodes/{NAME}")["status"].get("conditions", ())
        except KubeError:
            return False
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    def _look_after(self, name: str) -> None:
        assert self.processes[name].poll() is None, f"{name} ended:\n{self.log()}"

    def _launch(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.log").open("w") as log:
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def _end(self, name: str) -> None:
        process = self.processes.get(name)
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _shims(self) -> list[int]:
        """What stands between containerd and containers, and goes on without it."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                command = (process / "cmdline").read_bytes()
                if b"containerd-shim" in command and str(self.socket).encode() in command:
                    found.append(int(process.name))
        return found

    def _unmount(self) -> None:
        points = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
        inside = [point for point in points if point.startswith(f"{self.folder}/")]
        for point in (*sorted(inside, reverse=True), *self._covered):
            subprocess.run(["umount", "--lazy", point], capture_output=True, timeout=30)
        for place in self._made:
            with contextlib.suppress(OSError):
                place.rmdir()

    def _remove_groups(self) -> None:
        for group in control_groups(self.group):
            for inner in sorted(group.glob("**/"), reverse=True):
                with contextlib.suppress(OSError):
                    inner.rmdir()
