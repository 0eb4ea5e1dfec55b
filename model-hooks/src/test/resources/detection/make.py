"""Writes cases.json, what torchvision makes of made-up boxes and features: run it with torchvision 0.24."""

import json
from pathlib import Path

import torch
from torchvision.models.detection import _utils, rpn
from torchvision.models.detection.roi_heads import paste_masks_in_image
from torchvision.ops import MultiScaleRoIAlign, batched_nms, nms, roi_align
from torchvision.ops import boxes as box_ops

ROOT = Path(__file__).parent
DICE = torch.Generator().manual_seed(28)


def flat(tensor: torch.Tensor) -> list:
    return tensor.flatten().tolist()


def uniform(*shape: int, low: float = 0.0, high: float = 1.0) -> torch.Tensor:
    return torch.rand(*shape, generator=DICE) * (high - low) + low


def random_boxes(count: int, size: float = 100, largest: float = 40) -> torch.Tensor:
    corners = uniform(count, 2, low=-10, high=size)
    return torch.cat([corners, corners + uniform(count, 2, high=largest)], dim=1)


def decode_cases() -> list[dict]:
    cases = []
    for weights in ((1.0, 1.0, 1.0, 1.0), (10.0, 10.0, 5.0, 5.0)):
        for count, classes in ((0, 1), (6, 1), (4, 3)):
            anchors = random_boxes(count)
            deltas = torch.randn(count, 4 * classes, generator=DICE) * 2
            if count:
                deltas[0, 2] = 100.0  # beyond the clamp
                anchors[1] = torch.tensor([5.0, 5.0, 5.0, 5.0])
            boxes = _utils.BoxCoder(weights).decode(deltas, [anchors]) if count else torch.zeros(0, 1, 4)
            cases.append({"weights": weights, "classes": classes, "anchors": flat(anchors), "deltas": flat(deltas), "boxes": flat(boxes)})
    return cases


def filter_case() -> dict:
    boxes = torch.cat([random_boxes(12), torch.tensor([[0.0, 0, 3, 3], [0, 0, 3, 2.9], [9, 9, 9, 9], [8, 8, 2, 2]])])
    clipped = box_ops.clip_boxes_to_image(boxes, (60, 90))
    return {"boxes": flat(boxes), "height": 60, "width": 90, "clipped": flat(clipped), "minSize": 3.0,
            "large": box_ops.remove_small_boxes(clipped, 3.0).tolist()}  # fmt: skip


def nms_cases() -> list[dict]:
    tied = torch.tensor([[0.0, 0, 10, 10], [0, 0, 10, 5], [0, 5, 10, 10], [0, 0, 10, 10], [20, 20, 30, 30], [20, 20, 30, 30]])
    degenerate = torch.tensor([[1.0, 1, 1, 1], [1, 1, 1, 1], [5, 5, 2, 2], [0, 0, 9, 9], [5, 5, 2, 2], [3, 3, 3, 8]])
    sets = [
        (torch.zeros(0, 4), torch.zeros(0)),
        (tied, torch.tensor([0.5, 0.5, 0.5, 0.5, 0.5, 0.5])),
        (tied, torch.tensor([0.5, 0.9, 0.9, 0.5, 0.1, -0.0])),
        (degenerate, torch.tensor([0.5, 0.5, 0.4, 0.3, 0.9, 0.9])),
        (tied, torch.tensor([0.5, float("nan"), 0.9, float("inf"), float("-inf"), 0.9])),
        (torch.round(random_boxes(80)), torch.round(uniform(80) * 8) / 8),
        (random_boxes(120), uniform(120)),
    ]
    cases = []
    for boxes, scores in sets:
        for threshold in (0.0, 0.3, 0.5, 0.7, 1.0):
            kept = nms(boxes, scores, threshold)
            cases.append(
                {"boxes": flat(boxes), "scores": [str(score) for score in scores.tolist()], "threshold": threshold, "kept": kept.tolist()}
            )
    return cases


def batched_nms_cases() -> list[dict]:
    cases = []
    for count, groups in ((0, 1), (60, 4), (1000, 7), (1001, 7)):
        boxes = torch.round(random_boxes(count, size=200) * 2) / 2
        scores = uniform(count)
        if count == 60:
            scores = torch.round(scores * 10) / 10
        labels = (uniform(count) * groups).long()
        cases.append({"boxes": flat(boxes), "scores": flat(scores), "groups": labels.tolist(), "threshold": 0.5,
                      "kept": batched_nms(boxes, scores, labels, 0.5).tolist()})  # fmt: skip
    return cases


def proposal_cases() -> list[dict]:
    cases = []
    for levels, pre, post, score, smallest in (
        ([30, 12, 3], 10, 12, 0.0, 1e-3), ([30, 12, 3], 1000, 1000, 0.0, 1e-3), ([40, 0, 8], 20, 5, 0.5, 6.0), ([0, 0], 5, 5, 0.0, 1e-3), ([9], 9, 9, 2.0, 1.0),
    ):  # fmt: skip
        count = sum(levels)
        proposals = random_boxes(count)
        logits = torch.randperm(count, generator=DICE).float() / 4 - 4
        heads = rpn.RegionProposalNetwork(None, None, 0.7, 0.3, 256, 0.5, {"training": pre, "testing": pre},
                                          {"training": post, "testing": post}, 0.7, score).eval()  # fmt: skip
        heads.min_size = smallest
        boxes, scores = heads.filter_proposals(proposals[None], logits[None, :, None], [(70, 80)], levels)
        cases.append({"proposals": flat(proposals), "objectness": flat(logits), "levels": levels, "height": 70, "width": 80,
                      "pre": pre, "post": post, "scoreThreshold": score, "minSize": smallest,
                      "boxes": flat(boxes[0]), "scores": flat(scores[0])})  # fmt: skip
    return cases


def align_cases() -> list[dict]:
    features = torch.round(uniform(3, 9, 11, low=-1) * 64) / 64
    boxes = torch.tensor([
        [0.0, 0, 22, 18], [3.3, 4.7, 12.1, 9.9], [-30, -30, -20, -20], [-3, -2, 30, 25], [5, 5, 5, 5], [8, 8, 4, 4],
        [20.5, 16.5, 22, 18], [1, 1, 1.2, 1.3], [100, 100, 130, 140], [-1.9, -1.9, 0.1, 0.1],
    ])  # fmt: skip
    cases = []
    for ratio in (0, 1, 2):
        for aligned in (False, True):
            for height, width in ((2, 3), (1, 1)):
                found = roi_align(features[None], [boxes], (height, width), 0.5, ratio, aligned)
                cases.append({"height": height, "width": width, "scale": 0.5, "ratio": ratio, "aligned": aligned, "out": flat(found)})
    return [{"features": flat(features), "shape": [3, 9, 11], "boxes": flat(boxes), "cases": cases}]


def level_cases() -> list[dict]:
    cases = []
    shapes = {"0": (64, 64), "1": (32, 32), "2": (16, 16), "3": (8, 8)}
    features = {name: torch.round(uniform(1, 1, *shape, low=-1) * 64) / 64 for name, shape in shapes.items()}
    edge = [[0.0, 0, s, s] for s in (112, 111.99, 224, 223.99, 448, 56, 1, 0, 255)]
    boxes = torch.cat([torch.tensor(edge), random_boxes(6, 200, 150)])
    for ratio in (0, 2):
        pooler = MultiScaleRoIAlign(list(shapes), 2, ratio)
        out = pooler(features, [boxes], [(256, 250)])
        cases.append({"shapes": list(shapes.values()), "features": [flat(f) for f in features.values()], "imageHeight": 256,
                      "boxes": flat(boxes), "ratio": ratio, "size": 2, "out": flat(out)})  # fmt: skip
    return cases


def mask_cases() -> list[dict]:
    boxes = torch.tensor([[2.0, 3, 12, 9], [-4.5, -2.2, 6, 7.7], [10, 8, 30, 25], [4, 4, 4, 4], [5.5, 5.5, 6.4, 15.2], [0, 0, 16, 14]])
    masks = torch.round(uniform(len(boxes), 1, 4, 4) * 64) / 64
    found = paste_masks_in_image(masks, boxes, (14, 16))
    return [{"masks": flat(masks), "size": 4, "boxes": flat(boxes), "height": 14, "width": 16, "out": flat(found)}]


def shortened(value):
    """Floats as short as they can be read back."""
    if isinstance(value, float):
        single = torch.tensor(value).item()
        return next((short for digits in range(1, 10) if torch.tensor(short := float(f"{single:.{digits}g}")).item() == single), single)
    if isinstance(value, dict):
        return {key: shortened(entry) for key, entry in value.items()}
    return [shortened(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def main() -> None:
    cases = {"decode": decode_cases(), "filter": [filter_case()], "nms": nms_cases(), "nmsByGroup": batched_nms_cases(),
             "selectProposals": proposal_cases(), "roiAlign": align_cases(), "roiAlignByLevel": level_cases(), "pasteMasks": mask_cases()}  # fmt: skip
    groups = [
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(shortened(made), separators=(",", ":")) for made in found) + "]"
        for name, found in cases.items()
    ]
    (ROOT / "cases.json").write_text("{" + ",\n".join(groups) + "}\n")


if __name__ == "__main__":
    main()
