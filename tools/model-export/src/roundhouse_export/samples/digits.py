"""A trained classifier of handwritten digits, with the accuracy it reached on unseen images."""

from pathlib import Path

import jax
import numpy as np

from roundhouse_export.contract import Contract, TensorSpec
from roundhouse_export.jax_program import Arrays, Encoding, run_forward
from roundhouse_export.samples import digits_data, digits_net
from roundhouse_export.samples.sample import Content, Inputs, Sample

LABELS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

CONTRACT = Contract(
    inputs=(TensorSpec("pixels", "f32", ("n", 8, 8, 1)),),
    outputs=(TensorSpec("scores", "f32", ("n", 10), labels="labels.txt"),),
    batch_sizes=(1, 4, 16, 64),
)


def forward(inputs: Arrays, weights: Arrays) -> Arrays:
    return {"scores": jax.nn.softmax(digits_net.logits(inputs["pixels"], weights), axis=-1)}


def make_content() -> Content:
    training, unseen = digits_data.training_images(), digits_data.held_out_images()
    weights = digits_net.train(training.scaled(), training.labels)
    scores = run_forward(forward, CONTRACT, {"pixels": unseen.scaled()}, weights)["scores"]
    right = int((scores.argmax(axis=1) == unseen.labels).sum())
    accuracy = f"{right / len(unseen.labels):.4f}"
    return Content(
        weights=weights,
        assets={"labels.txt": "".join(f"{label}\n" for label in LABELS).encode()},
        facts={
            "data": "scikit-learn digits",
            "accuracy": accuracy,
            "held_out": f"{len(unseen.labels)} images by split seed {digits_data.SPLIT_SEED}",
        },
        description_suffix=f"; {right} of {len(unseen.labels)} held-out images right ({accuracy})",
    )


def make_inputs(rng: np.random.Generator, rows: int, variant: int) -> Inputs:
    images = digits_data.held_out_images().scaled()
    return {"pixels": images[rng.integers(0, len(images), rows)]}


def write_held_out(folder: Path) -> None:
    digits_data.held_out_images().save(folder / "heldout.npz")


SAMPLE = Sample(
    name="digits",
    description="8x8 images of handwritten digits, pixels 0 to 1, to ten class scores",
    contract=CONTRACT,
    forward=forward,
    make_content=make_content,
    make_inputs=make_inputs,
    encoding=Encoding.ARTIFACT,
    companion=write_held_out,
)
