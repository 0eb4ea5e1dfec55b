"""Reads what a worker's tee has copied: inputs of answered requests with their outputs, in batches of one size.

    with Learner("localhost:8005", "policy") as batches:       # from the worker itself
        for batch in batches:
            train(batch.inputs["x"], batch.outputs["y"])

    for batch in Folder("/data/tee", "policy", remove=True):   # or from the files that it writes
        train(batch.inputs["x"], batch.outputs["y"])

One file, for Python 3.10 and later, with numpy. docs/tee.md has the protocol and the format."""

import dataclasses
import hashlib
import json
import mmap
import pathlib
import re
import socket
import struct
import time
from collections.abc import Iterator

import numpy as np

ALIGNMENT = 64
FILE_NAME = re.compile(r"\.\d+-\d+\.safetensors$")  # behind the model
BATCH, REPLACED, END = range(3)
STATUS = "OK NO_SUCH_MODEL NOT_READY OTHER_SPEC NOT_FIXED UNAUTHORISED OVERLOADED BAD_HELLO".split()
DTYPES = dict(enumerate("? <u1 <u2 <u4 <u8 <i1 <i2 <i4 <i8 <f2 <f4 <f8".split(), 1))
FILE_DTYPES = dict(zip("BOOL U8 U16 U32 U64 I8 I16 I32 I64 F16 F32 F64".split(), DTYPES.values(), strict=True))
DTYPES[14] = FILE_DTYPES["BF16"] = "<u2"  # which numpy does not have: its bits


class TeeError(Exception):
    """The worker refused the learner, ended it, or said what makes no sense; ``status`` is its name for it."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


@dataclasses.dataclass(frozen=True)
class Batch:
    """Arrays by the names of the model's tensors, their first axis the rows.

    ``first_row`` numbers the rows of one ``generation`` of the model from 0. ``dropped`` is how many rows the worker
    has not copied until then, of all since it started: where it grows, there are gaps."""

    model: str
    version: str
    generation: int
    first_row: int
    dropped: int
    inputs: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]


class Learner:
    """The one learner of a model at a worker. ``address`` is "host:port", or a path to a socket with a slash.

    An iterator of batches, which ends when the worker stops. A batch is acknowledged when the next one is asked for.
    It waits while there is no batch, or for ``timeout`` seconds."""

    def __init__(self, address: str, model: str, *, token: str = "", timeout: float | None = None) -> None:
        self.model, self._unacknowledged = model, None
        self._socket = _connect(address, timeout)
        try:
            self._reader = self._socket.makefile("rb", 1 << 16)
            name, shown = model.encode(), token.encode()
            self._socket.sendall(struct.pack("<4sHHQ", b"TEE1", len(name), len(shown), 0) + name + shown)
            self._read_reply()
        except BaseException:
            self.close()
            raise

    def _read_reply(self) -> None:
        head = self._read(48)
        if head[:4] != b"TEE1":
            raise TeeError("MALFORMED", f"this is no tee: {head[:4]!r}")
        status, version_bytes, length, self.window = struct.unpack_from("<BxHII", head, 4)
        self.batch_bytes, self.generation, digest = struct.unpack_from("<QQQ", head, 16)
        inputs, outputs, text_bytes = struct.unpack_from("<HHI", head, 40)
        rest = self._read(length - 48)
        block = rest[: len(rest) - version_bytes - text_bytes]
        if status:
            name = STATUS[status] if status < len(STATUS) else str(status)
            raise TeeError(name, rest[len(rest) - text_bytes :].decode("utf-8", "replace"))
        self.version = rest[len(block) : len(block) + version_bytes].decode()
        if (int.from_bytes(hashlib.sha256(block).digest()[:8], "little") or 1) != digest:
            raise TeeError("MALFORMED", "the digest of the spec is not that of the spec")
        self.inputs, at, end = _tensors(block, 0, inputs, 0)
        self.outputs, _, end = _tensors(block, at, outputs, end + -end % ALIGNMENT)
        if end != self.batch_bytes:
            raise TeeError("MALFORMED", f"batches have {self.batch_bytes} bytes, and their tensors {end}")

    def __iter__(self) -> "Learner":
        return self

    def __next__(self) -> Batch:
        if self._unacknowledged is not None:
            self._socket.sendall(struct.pack("<Q", self._unacknowledged))
            self._unacknowledged = None
        while True:
            kind, text_bytes, number, first_row, dropped = struct.unpack("<IIQQQ", self._read(32))
            text = self._read(text_bytes).decode("utf-8", "replace")
            if kind == BATCH:
                break
            if kind == REPLACED:
                self.generation, self.version = number, text
            else:
                raise StopIteration if text == "the worker stops" else TeeError("ENDED", text)
        data = self._read(self.batch_bytes)
        self._unacknowledged = number
        inputs, outputs = ({n: _array(data, *at) for n, at in each.items()} for each in (self.inputs, self.outputs))
        return Batch(self.model, self.version, self.generation, first_row, dropped, inputs, outputs)

    def _read(self, count: int) -> bytes:
        data = self._reader.read(count)
        if data is None or len(data) < count:
            raise TeeError("UNAVAILABLE", "the connection has ended")
        return data

    def __enter__(self) -> "Learner":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()


class Folder:
    """Batches of a model from a worker's files, the oldest first, whatever else is in the folder.

    With ``follow`` it waits for more for ever. With ``remove`` each file is deleted once the next batch is asked for.
    The worker deletes files, too.
    """

    def __init__(self, folder: str, model: str, *, follow: bool = False, remove: bool = False) -> None:
        self.folder, self.model, self.follow, self.remove = pathlib.Path(folder), model, follow, remove

    def __iter__(self) -> Iterator[Batch]:
        seen: set[str] = set()
        while True:
            there = {path.name: path for path in self.folder.iterdir() if FILE_NAME.search(path.name)}
            new = sorted(there.keys() - seen, key=lambda name: name.rsplit(".", 2)[1])
            seen = set(there)
            for name in new:
                try:
                    batch = read(there[name])
                except FileNotFoundError:  # the worker has made room
                    continue
                if batch.model == self.model:
                    yield batch
                    if self.remove:
                        there[name].unlink(missing_ok=True)
            if not self.follow:
                return
            time.sleep(0 if new else 0.2)


def read(path: str | pathlib.Path) -> Batch:
    """A file as a batch. Its arrays are read when they are used."""
    with pathlib.Path(path).open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = 8 + struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:start])
    about = header.pop("__metadata__")
    arrays: dict[str, dict[str, np.ndarray]] = {"inputs": {}, "outputs": {}}
    for name, tensor in header.items():
        kind, _, tensor_name = name.partition("/")
        begin = start + tensor["data_offsets"][0]
        arrays[kind][tensor_name] = _array(data, FILE_DTYPES[tensor["dtype"]], tuple(tensor["shape"]), begin)
    numbers = (int(about[key]) for key in ("generation", "first_row", "dropped_rows"))
    return Batch(about["model"], about["version"], *numbers, arrays["inputs"], arrays["outputs"])


def _array(data: bytes | mmap.mmap, dtype: str, shape: tuple[int, ...], offset: int) -> np.ndarray:
    return np.frombuffer(data, dtype, int(np.prod(shape, dtype=np.int64)), offset).reshape(shape)


def _tensors(block: bytes, at: int, count: int, base: int) -> tuple[dict[str, tuple], int, int]:
    """Datatype, shape and place by name; where the block goes on; where their bytes end."""
    tensors, end = {}, base
    for _ in range(count):
        code, rank, name_bytes, offset = struct.unpack_from("<BBHI", block, at)
        shape = struct.unpack_from(f"<{rank}I", block, at + 8)
        start = at + 8 + 4 * rank
        tensors[block[start : start + name_bytes].decode()] = (DTYPES[code], shape, base + offset)
        end = base + offset + int(np.prod(shape, dtype=np.int64)) * np.dtype(DTYPES[code]).itemsize
        at = start + name_bytes
        at += -at % 4
    return tensors, at, end


def _connect(address: str, timeout: float | None) -> socket.socket:
    if "/" in address:
        local = socket.socket(socket.AF_UNIX)
        local.settimeout(timeout)
        local.connect(address)
        return local
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host.strip("[]"), int(port)), timeout)
