"""The repository that ``docs/migrating-from-triton.md`` goes through, and what the page lists."""

import re
import runpy
from pathlib import Path

import pytest

from roundhouse_export.model import ImportOptions
from roundhouse_export.repository import convert_repository
from roundhouse_export.triton.config_file import ModelConfig

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "migrating-from-triton.md"
EXAMPLE = ROOT / "tools" / "model-export" / "examples" / "triton" / "make_repository.py"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("triton") / "models"
    runpy.run_path(str(EXAMPLE))["make_repository"](folder)
    return folder


def test_should_come_to_what_the_page_says(repository: Path, tmp_path: Path) -> None:
    sizes = {"batch_sizes": (2,)}  # one program each will do
    rows = convert_repository(repository, tmp_path, ImportOptions(**sizes), lambda _: None)
    printed = [
        line.split(None, 5)
        for line in PAGE.read_text().splitlines()
        if re.match(r"\w+ +[-\d] +triton ", line)
    ]
    told = {(cells[0], cells[1]): cells[3] for cells in printed}
    assert {(r.model, str(r.version or "-")): r.status.value for r in rows} == told
    reasons = {cells[0]: cells[4] + " " + cells[5] for cells in printed if cells[3] == "refused"}
    for row in rows:
        if row.is_refused:
            told_reason = reasons[row.model].replace("../triton-demo/models", str(repository))
            assert row.reason == f"{repository}/{told_reason}"
        elif row.model == "chain":
            assert row.difference is None  # it has no numbers of its own
        else:
            assert row.difference is not None
            assert row.difference < 1e-6
    options = ImportOptions(**sizes, axes={"words/length": (4, 6)})
    rows = convert_repository(repository, tmp_path, options, lambda _: None)
    words = [row for row in rows if row.model == "words"]
    assert [row.status.value for row in words] == ["converted", "converted"]
    assert words[0].notes[-1].endswith("--set roundhouse.worker.models.words.version-policy=all")


def test_should_list_every_field_of_a_configuration() -> None:
    section = PAGE.read_text().split("## config.pbtxt")[1].split("\n## ")[0]
    listed = set(re.findall(r"`(\w+)`", section))
    message = ModelConfig.DESCRIPTOR
    inner = [message.fields_by_name[each].message_type for each in ("input", "output")]
    inner += [
        message.fields_by_name[each].message_type
        for each in ("dynamic_batching", "sequence_batching")
    ]
    fields = {field.name for each in (message, *inner) for field in each.fields}
    assert sorted(fields - listed) == []
