"""Trains the detector on rendered pictures."""

import itertools
import sys
import time
from pathlib import Path

import torch
from torchvision.transforms.functional import pil_to_tensor

from detector import detector
from rendered import KINDS, pictures

STEPS, BATCH = 300, 8
RATE = 3e-3
SEED = 20261127


def train(weights: Path) -> None:
    torch.manual_seed(SEED)
    torch.set_num_threads(1)  # sums in one order, however many processors there are
    model = detector().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS, pct_start=0.15)
    shown = pictures(SEED)
    began = time.perf_counter()
    for step in range(STEPS):
        images, targets = [], []
        for picture, shapes in itertools.islice(shown, BATCH):
            images.append(pil_to_tensor(picture) / 255)
            boxes = torch.tensor([shape.box for shape in shapes])
            labels = torch.tensor([1 + KINDS.index(shape.kind) for shape in shapes])
            targets.append({"boxes": boxes, "labels": labels})
        loss = sum(model(images, targets).values())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()
        schedule.step()
        if step % 20 == 0 or step == STEPS - 1:
            print(f"step {step:4}  loss {loss.item():.3f}  {time.perf_counter() - began:.0f} s", flush=True)
    torch.save(model.state_dict(), weights)


if __name__ == "__main__":
    train(Path(sys.argv[1]))
