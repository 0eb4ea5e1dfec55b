"""torchvision's Faster R-CNN with a trunk that is narrow enough to be trained in a minute, and its two halves."""

from collections import OrderedDict
from pathlib import Path

import torch
from torch import nn
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.backbone_utils import BackboneWithFPN
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.models.detection.image_list import ImageList
from torchvision.ops import Conv2dNormActivation, MultiScaleRoIAlign

from rendered import KINDS, SIDE

CHANNELS = 48  # of each level
HIDDEN = 128
ANCHORS = ((24.0, 34.0), (48.0, 68.0), (96.0, 136.0))  # pixels, of each level
LEVELS = {"0": "fine", "1": "coarse"}  # where boxes are looked at; proposals come from a third, too
PROPOSALS = 100


def detector() -> FasterRCNN:
    trunk = nn.Sequential(
        OrderedDict(
            stem=Conv2dNormActivation(3, 16, 3, stride=2),
            small=Conv2dNormActivation(16, 32, 3, stride=2),
            fine=nn.Sequential(Conv2dNormActivation(32, 64, 3, stride=2), Conv2dNormActivation(64, 64, 3)),
            coarse=nn.Sequential(Conv2dNormActivation(64, 96, 3, stride=2), Conv2dNormActivation(96, 96, 3)),
        )
    )
    return FasterRCNN(
        BackboneWithFPN(trunk, {name: level for level, name in LEVELS.items()}, [64, 96], CHANNELS),
        min_size=SIDE,
        max_size=SIDE,
        image_mean=[0.5] * 3,
        image_std=[0.25] * 3,
        rpn_anchor_generator=AnchorGenerator(ANCHORS, ((1.0,),) * len(ANCHORS)),
        rpn_pre_nms_top_n_train=300,
        rpn_post_nms_top_n_train=PROPOSALS,
        rpn_pre_nms_top_n_test=300,
        rpn_post_nms_top_n_test=PROPOSALS,
        rpn_batch_size_per_image=64,
        box_roi_pool=MultiScaleRoIAlign(list(LEVELS), output_size=7, sampling_ratio=2),
        box_head=TwoMLPHead(CHANNELS * 7 * 7, HIDDEN),
        box_predictor=FastRCNNPredictor(HIDDEN, 1 + len(KINDS)),
        box_score_thresh=0.5,
        box_nms_thresh=0.5,
        box_detections_per_img=100,
        box_batch_size_per_image=64,
    )


def trained(weights: Path) -> FasterRCNN:
    model = detector()
    model.load_state_dict(torch.load(weights, weights_only=True))
    return model.eval()


class Proposer(nn.Module):
    """A picture of 0 to 1 to features, and to what may be at each anchor and where."""

    def __init__(self, model: FasterRCNN) -> None:
        super().__init__()
        self.backbone = model.backbone
        self.head = model.rpn.head
        self.register_buffer("mean", torch.tensor(model.transform.image_mean).reshape(-1, 1, 1))
        self.register_buffer("spread", torch.tensor(model.transform.image_std).reshape(-1, 1, 1))

    def forward(self, image: torch.Tensor) -> dict[str, torch.Tensor]:
        levels = self.backbone((image - self.mean) / self.spread)
        objectness, deltas = self.head(list(levels.values()))
        return {
            # of each level row by row, the anchors of one place together, as torchvision has them
            "objectness": torch.cat([each.permute(0, 2, 3, 1).flatten(1) for each in objectness], 1),
            "deltas": torch.cat([each.permute(0, 2, 3, 1).flatten(1) for each in deltas], 1).unflatten(1, (-1, 4)),
            **{name: levels[level] for level, name in LEVELS.items()},
        }


class BoxHead(nn.Module):
    """What was sampled of the features within boxes to what is in them, and how they are moved."""

    def __init__(self, model: FasterRCNN) -> None:
        super().__init__()
        self.head = model.roi_heads.box_head
        self.predictor = model.roi_heads.box_predictor

    def forward(self, rois: torch.Tensor) -> dict[str, torch.Tensor]:
        scores, deltas = self.predictor(self.head(rois))
        return {"scores": scores.softmax(-1), "deltas": deltas}


def anchors(model: FasterRCNN) -> torch.Tensor:
    """f32 [anchors, 4], in the order of the proposer's outputs."""
    pictures = torch.zeros(1, 3, SIDE, SIDE)
    with torch.no_grad():
        levels = model.backbone(pictures)
    return model.rpn.anchor_generator(ImageList(pictures, [(SIDE, SIDE)]), list(levels.values()))[0]
