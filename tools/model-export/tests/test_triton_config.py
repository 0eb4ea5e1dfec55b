import subprocess
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2

from roundhouse_export.refusal import RefusedError
from roundhouse_export.triton import config_file, counterparts, sequence, serving, versions
from roundhouse_export.triton.batch_sizes import batch_sizes
from roundhouse_export.triton.folder import open_folder
from roundhouse_export.triton.proto_file import file_descriptor, message_class

ROOT = Path(__file__).parents[3]
SHARED = ROOT / "shared-kserve/src/main/proto/model_config.proto"
OWN = Path(config_file.__file__).parent / "model_config.proto"

FULL = """\
# a comment: { not a field
name: "m"
backend: "onnxruntime"
max_batch_size: 8
input [
  { name: "x" data_type: TYPE_FP32
    dims: [ 4 ] },
  {
    name: "z"
    dims: [ 1, -1 ]
  }
]
output { name: 'y' 'tail' dims: 3 }
dynamic_batching {
  preferred_batch_size: [ 2, 6 ]
  max_queue_delay_microseconds: 1500
  priority_levels: 3
  default_priority_level: 2
  default_queue_policy < timeout_action: DELAY
    default_timeout_microseconds: 2000000 max_queue_size: 7 >
  priority_queue_policy { key: 1 value { max_queue_size: 2 } }
}
instance_group [ { count: 2 kind: KIND_GPU rate_limiter { priority: 2 } } ]
parameters { key: "a" value { string_value: "b" } }
model_warmup { name: "w" batch_size: 1 }
"""


def read(folder: Path, text: str) -> config_file.ConfigFile:
    (folder / "config.pbtxt").write_text(text)
    return config_file.read(folder / "config.pbtxt")


def test_should_have_the_proto_that_the_server_has() -> None:
    assert OWN.read_text() == SHARED.read_text(), f"cp {SHARED} {OWN}"


def test_should_read_the_proto_as_protoc_does(tmp_path: Path) -> None:
    found = sorted(Path.home().glob(".m2/repository/com/google/protobuf/protoc/*/protoc-*.exe"))
    if not found:
        pytest.skip("no protoc of the Maven build here")
    protoc = tmp_path / "protoc"
    protoc.write_bytes(found[-1].read_bytes())
    protoc.chmod(0o755)
    out = tmp_path / "set"
    command = [protoc, f"-I{OWN.parent}", f"--descriptor_set_out={out}", OWN.name]
    subprocess.run(command, check=True)
    wanted = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[0]
    wanted.ClearField("options")

    def without_json_names(messages: list) -> None:
        for message in messages:
            for field in message.field:
                field.ClearField("json_name")
            without_json_names(message.nested_type)

    without_json_names(wanted.message_type)
    assert file_descriptor(OWN.read_text(), OWN.name) == wanted


def test_should_read_numbers_types_maps_and_oneofs_of_a_proto() -> None:
    text = """syntax = "proto3"; package p;
    message M { enum E { A = 0; B = 7; } repeated E e = 3; map<string, N> n = 5;
                oneof choice { int64 i = 2; bool b = 4; } }
    message N { string s = 1; }"""
    kind = message_class(text, "m.proto", "p.M")
    message = kind(e=["B"], b=True)
    message.n["k"].s = "v"
    assert message.SerializeToString() == bytes.fromhex("1a010720012a080a016b12030a0176")
    assert message.WhichOneof("choice") == "b"


@pytest.mark.parametrize(
    "text", ["import 'x';", "message M { group G = 1; }", "message M { X x = 1; }"]
)
def test_should_refuse_a_proto_of_another_kind(text: str) -> None:
    with pytest.raises(ValueError):
        file_descriptor(text, "m.proto")


def test_should_know_the_line_of_every_field(tmp_path: Path) -> None:
    config = read(tmp_path, FULL)
    path = tmp_path / "config.pbtxt"
    assert config.message.input[1].dims == [1, -1]
    assert config.at("input[0].dims") == f"{path}:7"
    assert config.at("input[1].dims") == f"{path}:10"
    assert config.at("output[0].name") == f"{path}:13"
    assert config.at("dynamic_batching[0].default_queue_policy[0].max_queue_size") == f"{path}:20"
    assert config.at("model_warmup[0].name") == f"{path}:25"
    assert config.at("input[1].reshape") == f"{path}:8", "what a field would stand in"
    assert config.at("version_policy", "platform") == str(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('name: "m"\nmax_batch: 3\n', ':2:1: Message type "inference.ModelConfig" has no field'),
        ("max_batch_size: many\n", ":1:17: "),
        ("input [ { dims: [1, 2 } ]", ":1:23: "),
        ('name: "m"\nname: "n"', ':2:7: Message type "inference.ModelConfig" should not have'),
        ("instance_group { kind: KIND_TPU }", "has no value named KIND_TPU"),
    ],
)
def test_should_name_the_place_when_protobuf_cannot_read_it(
    tmp_path: Path, text: str, told: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        read(tmp_path, text)
    said = str(refused.value)
    assert said.startswith(f"{tmp_path / 'config.pbtxt'}:")
    assert told in said
    assert "\n" not in said


def test_should_refuse_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "config.pbtxt").write_bytes(b'name: "\xff"')
    with pytest.raises(RefusedError, match=r"config\.pbtxt: byte 7 is no UTF-8"):
        config_file.read(tmp_path / "config.pbtxt")


@pytest.mark.parametrize(
    ("largest", "preferred", "sizes"),
    [
        (1, [], (1,)),
        (4, [], (1, 2, 4)),
        (12, [], (1, 2, 4, 8, 12)),
        (8, [3, 6, 99], (1, 2, 3, 4, 6, 8)),
        (64, [], (1, 4, 8, 16, 32, 64)),
        (1024, [], (1, 4, 16, 64, 256, 1024)),
        (100, [10, 20, 30, 40, 50, 60], (1, 10, 20, 40, 60, 100)),
    ],
)
def test_should_choose_a_handful_of_batch_sizes(
    largest: int, preferred: list[int], sizes: tuple[int, ...]
) -> None:
    chosen = batch_sizes(largest, preferred)
    assert len(chosen) <= 6
    assert {1, largest} <= set(chosen)
    assert chosen == sizes


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "0ms"),
        (1500, "1500us"),
        (2000, "2ms"),
        (60_000_000, "1m"),
        (7_200_000_000, "2h"),
        (999_999_999_999, "999999999ms"),
    ],
)
def test_should_write_durations_as_manifests_have_them(microseconds: int, text: str) -> None:
    assert serving.duration(microseconds) == text


def test_should_map_queues_priorities_and_delays(tmp_path: Path) -> None:
    section, notes = serving.serving(read(tmp_path, FULL))
    assert section == {
        "max_queue_delay": "1500us",
        "queue": {
            "max_size": 7,
            "default_timeout": "2s",
            "timeout_action": "delay",
            "allow_timeout_override": False,
        },
        "priorities": {"levels": 3, "default": 2},
    }
    path = tmp_path / "config.pbtxt"
    assert notes == [
        f"{path}:21: policies of priority levels 1 have no counterpart here; all levels follow "
        "default_queue_policy"
    ]


def test_should_cut_a_delay_that_is_longer_than_the_server_waits(tmp_path: Path) -> None:
    config = read(tmp_path, "dynamic_batching { max_queue_delay_microseconds: 90000000 }")
    section, notes = serving.serving(config)
    assert section == {"max_queue_delay": "1m"}
    assert notes[0].endswith("config.pbtxt:1: a delay of 90s is cut to 1m, the most there is here")


def test_should_refuse_a_default_priority_that_is_no_level(tmp_path: Path) -> None:
    config = read(tmp_path, "dynamic_batching {\n priority_levels: 2\n}")
    with pytest.raises(
        RefusedError, match=r":2: priority_levels is 2 and default_priority_level 0"
    ):
        serving.serving(config)


def test_should_tell_what_has_no_counterpart(tmp_path: Path) -> None:
    path = tmp_path / "config.pbtxt"
    told = counterparts.notes(read(tmp_path, FULL))
    assert [each.split(" ha")[0].split(" is")[0] for each in told] == [
        f"{path}:23: instance_group with its rate_limiter",
        f"{path}:24: parameters",
        f"{path}:25: model_warmup",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\nmodel_transaction_policy { decoupled: true }", ":2: a decoupled model answers"),
        ('batch_input { kind: BATCH_ELEMENT_COUNT target_name: "c" }', ":1: batch_input tells"),
        (
            'input { name: "x"\nallow_ragged_batch: true }',
            ":2: allow_ragged_batch: input 'x' joins rows of several lengths",
        ),
        ("model_repository_agents { }", ":1: model_repository_agents change a model's files"),
    ],
)
def test_should_refuse_what_would_change_answers(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(RefusedError) as refused:
        counterparts.require(read(tmp_path, text))
    assert f"{tmp_path / 'config.pbtxt'}{told}" in str(refused.value)


SEQUENCE = """\
sequence_batching {
  max_sequence_idle_microseconds: 5000000
  oldest { max_candidate_sequences: 4 max_queue_delay_microseconds: 100 }
  control_input { name: "START"
    control { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } }
  control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }
  state { input_name: "s" output_name: "t" data_type: TYPE_FP32 dims: [ 1 ] }
}
"""


def test_should_tell_what_of_sequences_has_no_counterpart(tmp_path: Path) -> None:
    text = SEQUENCE.replace("oldest {", "direct {").replace("max_candidate_sequences: 4", "")
    text = text.replace("dims: [ 1 ]", "use_growable_memory: true")
    section, notes = sequence.sequence(read(tmp_path, text))
    assert section["max_queue_delay"] == "100us"
    assert [each.removeprefix(str(tmp_path)) for each in notes] == [
        "/config.pbtxt:3: sequences have no slot of their own here; they are served as by strategy "
        "oldest",
        "/config.pbtxt:7: how Triton keeps state 's' is left out",
    ]


def test_should_map_sequences_with_controls_and_state(tmp_path: Path) -> None:
    config = read(tmp_path, SEQUENCE)
    section, notes = sequence.sequence(config)
    assert section == {
        "max_queue_delay": "100us",
        "sequence": {
            "idle": "5s",
            "controls": {"start": "START", "correlation_id": "ID"},
            "state": [{"input": "s", "output": "t", "initial": "zero"}],
        },
    }
    assert len(notes) == 1 and ":3: max_candidate_sequences" in notes[0]
    assert sequence.fed_inputs(config) == {"START", "ID", "s"}
    assert sequence.kept_outputs(config) == ["t"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[ 0, 1 ]", "[ -1, 1 ]", ":5: control input 'START' is to be [-1.0, 1.0] for false"),
        ("dims: [ 1 ]", 'initial_state { data_file: "a/zero" }', ":7: a file named 'zero' would"),
        (
            "dims: [ 1 ]",
            'initial_state { data_file: "f" } initial_state { zero_data: true }',
            ":7: state 's' has 2 initial states; it has one",
        ),
        ("state {", "iterative_sequence: true state {", ":7: iterative_sequence has no"),
        ("CONTROL_SEQUENCE_CORRID", "CONTROL_SEQUENCE_START int32_false_true: [0, 1]", "are both"),
    ],
)
def test_should_refuse_sequences_that_are_served_otherwise(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    assert old in SEQUENCE
    with pytest.raises(RefusedError) as refused:
        sequence.sequence(read(tmp_path, SEQUENCE.replace(old, new)))
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("policy", "chosen", "setting"),
    [
        ("", [10], None),
        ("version_policy { latest { num_versions: 1 } }", [10], None),
        ("version_policy { latest { num_versions: 2 } }", [2, 10], "latest:2"),
        ("version_policy { all { } }", [1, 2, 10], "all"),
        ("version_policy { specific { versions: [ 7, 1 ] } }", [1, 7], "1,7"),
    ],
)
def test_should_choose_versions_as_triton_does(
    tmp_path: Path, policy: str, chosen: list[int], setting: str | None
) -> None:
    model = tmp_path / "m"
    for name in ("1", "2", "10", "011", "x"):
        (model / name).mkdir(parents=True)
    (model / "config.pbtxt").write_text(policy)
    folder = open_folder(model)
    assert versions.chosen(folder) == chosen
    wanted = f"roundhouse.worker.models.m.version-policy={setting}" if setting else None
    assert versions.setting(folder) == wanted


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ('\nbackend: "python"', ":2: backend 'python' has no counterpart here"),
        ('platform: "tensorrt_plan"', ":1: backend 'tensorrt_plan' has no counterpart"),
        ("max_batch_size: 1", ": nothing says what runs it, and no version has a model.onnx"),
        ('name: "other"', ":1: the model is named 'other', and its folder 'm'"),
    ],
)
def test_should_refuse_other_backends_by_line_and_name(
    tmp_path: Path, config: str, told: str
) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "config.pbtxt").write_text(config)
    with pytest.raises(RefusedError) as refused:
        open_folder(tmp_path / "m").require_backend()
    assert f"{tmp_path / 'm' / 'config.pbtxt'}{told}" in str(refused.value)
