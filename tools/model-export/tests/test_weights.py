import json

import numpy as np
import pytest

from roundhouse_export import dtypes, weights


def header(data: bytes) -> dict[str, dict[str, object]]:
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0
    return json.loads(data[8 : 8 + length])


@pytest.mark.parametrize("token", dtypes.TOKENS)
def test_should_return_the_same_bytes_when_dtype_round_trips(token: str) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtypes.numpy_dtype(token))
    restored = weights.decode(weights.encode({"w": array}))["w"]
    assert (restored.dtype, restored.shape) == (array.dtype, (2, 3))
    assert restored.tobytes() == array.tobytes()


@pytest.mark.parametrize("shape", [(), (0,), (0, 2), (1, 1, 1)])
def test_should_keep_shape_when_tensor_is_scalar_or_empty(shape: tuple[int, ...]) -> None:
    data = weights.encode({"w": np.ones(shape, np.float32), "other": np.ones(2, np.int8)})
    assert header(data)["w"]["shape"] == list(shape)
    assert weights.decode(data)["w"].shape == shape


def test_should_store_row_major_bytes_when_array_is_a_transposed_view() -> None:
    array = np.arange(6, dtype=np.uint8).reshape(2, 3).T
    assert weights.encode({"w": array})[-6:] == bytes([0, 3, 1, 4, 2, 5])


def test_should_remember_argument_order_when_it_is_not_alphabetical() -> None:
    data = weights.encode({"z": np.zeros(1), "a": np.zeros(1), "m": np.zeros(1)})
    assert header(data)["__metadata__"] == {"argument_order": '["z", "a", "m"]'}
    assert list(weights.decode(data)) == ["z", "a", "m"]


def test_should_write_an_empty_order_when_there_are_no_weights() -> None:
    data = weights.encode({})
    assert header(data) == {"__metadata__": {"argument_order": "[]"}}
    assert weights.decode(data) == {}


def test_should_refuse_when_the_order_misses_a_tensor() -> None:
    data = weights.encode({"a": np.zeros(1), "b": np.zeros(1)})
    broken = data.replace(rb"[\"a\", \"b\"]", rb"[\"a\", \"c\"]")
    with pytest.raises(ValueError, match=r"argument_order names \['a', 'c'\]"):
        weights.decode(broken)


def test_should_refuse_when_numpy_type_has_no_token() -> None:
    with pytest.raises(ValueError, match="numpy type complex64 has no place in a bundle"):
        weights.encode({"w": np.zeros(1, np.complex64)})
