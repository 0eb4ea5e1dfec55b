"""Workers and gateways in networks of their own."""

import re
from pathlib import Path

from networks import Place
from worker_process import Ports, WorkerProcess


class Server(WorkerProcess):
    """A worker or a gateway in a place of its own."""

    def __init__(self, command: list[str], ports: Ports, log: Path, place: Place) -> None:
        super().__init__(place.command(command), ports, log)
        self.place = place

    @property
    def host(self) -> str:
        return self.place.address

    def get(self, port: int, path: str) -> tuple[int, str]:
        return self.place.run(lambda: super(Server, self).get(port, path))

    def metric(self, name: str) -> float:
        """The sum of all series whose name and labels match."""
        page = self.get(self.ports.metrics, "/metrics?workers=false")[1]
        return sum(float(value) for value in re.findall(rf"^{name} (\S+)$", page, re.MULTILINE))

    def executed(self) -> int:
        return int(self.metric(r'roundhouse_requests_completed_total\{model="simple"\}'))

    def followed(self) -> int:
        return int(self.metric("gateway_followed_requests_total"))

    def sees(self, worker: str) -> bool:
        return self.metric(rf'gateway_worker_ready\{{worker="{worker}"\}}') == 1

    def is_ready(self) -> bool:
        return self.get(self.ports.metrics, "/actuator/health/readiness")[0] == 200
