"""What is tried: architectures with seeded random weights, none of them downloaded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

_SEED = 7
_TOKENS = {"input_ids": "i64[n,16]", "attention_mask": "i64[n,16]"}


@dataclass(frozen=True)
class Architecture:
    """``inputs`` as ``--input`` takes them, by name."""

    package: str
    name: str
    build: Callable[[], torch.nn.Module]
    inputs: Mapping[str, str]

    @property
    def key(self) -> str:
        return f"{self.package} {self.name}"

    def module(self) -> torch.nn.Module:
        """In ``eval``. Parameters that all start alike would hide what they do: they get noise."""
        torch.manual_seed(_SEED)
        module = self.build().eval()
        noise = torch.Generator().manual_seed(_SEED)
        with torch.no_grad():
            for each in module.parameters():
                if (
                    each.is_floating_point()
                    and each.numel()
                    and bool((each == each.flatten()[0]).all())
                ):
                    each += 0.05 * torch.randn(each.shape, generator=noise)
            for name, each in module.named_buffers():
                if name.endswith("running_mean"):
                    each += 0.05 * torch.randn(each.shape, generator=noise)
                elif name.endswith("running_var"):
                    each *= 0.75 + 0.5 * torch.rand(each.shape, generator=noise)
        return module


def catalogue() -> list[Architecture]:
    return [*_torchvision(), *_timm(), *_transformers()]


def _torchvision() -> list[Architecture]:
    from torchvision import models

    def made(
        function: Callable[..., Any], size: int | tuple[int, ...], **options: Any
    ) -> Architecture:
        shape = (3, size, size) if isinstance(size, int) else size
        text = f"f32[n,{','.join(map(str, shape))}]"
        return Architecture(
            "torchvision",
            function.__name__,
            lambda: function(weights=None, **options),
            {"x": text},
        )

    plain = {"weights_backbone": None}
    return [
        made(models.alexnet, 96),
        made(models.vgg11_bn, 64),
        made(models.resnet18, 96),
        made(models.resnet50, 96),
        made(models.resnext50_32x4d, 96),
        made(models.densenet121, 96),
        made(models.googlenet, 96, init_weights=False, aux_logits=False),
        made(models.inception_v3, 128, init_weights=False, aux_logits=False),
        made(models.mobilenet_v2, 96),
        made(models.mobilenet_v3_small, 96),
        made(models.mobilenet_v3_large, 96),
        made(models.shufflenet_v2_x1_0, 96),
        made(models.squeezenet1_1, 96),
        made(models.efficientnet_b0, 96),
        made(models.efficientnet_v2_s, 96),
        made(models.mnasnet0_5, 96),
        made(models.regnet_y_400mf, 96),
        made(models.regnet_x_400mf, 96),
        made(models.convnext_tiny, 96),
        made(models.swin_t, 96),
        made(models.swin_v2_t, 96),
        made(models.vit_b_16, 96, image_size=96),
        made(models.maxvit_t, 224),
        made(models.segmentation.fcn_resnet50, 64, **plain),
        made(models.segmentation.deeplabv3_mobilenet_v3_large, 96, **plain),
        made(models.segmentation.lraspp_mobilenet_v3_large, 96, **plain),
        made(models.video.r3d_18, (3, 4, 48, 48)),
        made(models.video.r2plus1d_18, (3, 4, 48, 48)),
        made(models.video.s3d, (3, 14, 224, 224)),
        made(models.video.swin3d_t, (3, 4, 64, 64)),
        Architecture(
            "torchvision",
            "raft_small",
            lambda: models.optical_flow.raft_small(weights=None),
            {"image1": "f32[n,3,128,128]", "image2": "f32[n,3,128,128]"},
        ),
        _detector(models.detection.ssdlite320_mobilenet_v3_large),
        _detector(models.detection.fasterrcnn_mobilenet_v3_large_320_fpn),
    ]


def _detector(function: Callable[..., Any]) -> Architecture:
    """Torchvision's detectors take a list of images."""

    class Detector(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = function(weights=None, weights_backbone=None)

        def forward(self, x: torch.Tensor) -> Any:
            return self.model([x[0]])[0]

    return Architecture("torchvision", function.__name__, Detector, {"x": "f32[1,3,160,160]"})


_TIMM = {
    "resnet26d": 96,
    "resnetv2_50": 96,
    "seresnet50": 96,
    "skresnet18": 96,
    "resnest14d": 96,
    "ecaresnet26t": 96,
    "res2net50_26w_4s": 96,
    "dla34": 96,
    "hrnet_w18_small": 96,
    "ese_vovnet19b_dw": 96,
    "cspresnet50": 96,
    "darknet53": 96,
    "dpn68": 96,
    "ghostnet_100": 96,
    "hardcorenas_a": 96,
    "tinynet_e": 96,
    "mobilenetv4_conv_small": 96,
    "mobileone_s0": 96,
    "repvgg_a0": 96,
    "rexnet_100": 96,
    "eca_nfnet_l0": 96,
    "selecsls42b": 96,
    "vit_tiny_patch16_224": 224,
    "deit_tiny_distilled_patch16_224": 224,
    "eva02_tiny_patch14_224": 224,
    "cait_xxs24_224": 224,
    "xcit_nano_12_p16_224": 224,
    "crossvit_tiny_240": 240,
    "pit_ti_224": 224,
    "levit_128s": 224,
    "mixer_s32_224": 224,
    "gmlp_ti16_224": 224,
    "poolformer_s12": 96,
    "coat_lite_tiny": 224,
    "twins_svt_small": 224,
    "edgenext_xx_small": 96,
    "mobilevit_xxs": 128,
    "fastvit_t8": 128,
    "volo_d1_224": 224,
    "focalnet_tiny_srf": 96,
    "pvt_v2_b0": 96,
    "efficientvit_b0": 96,
}


def _timm() -> list[Architecture]:
    import timm

    return [
        Architecture(
            "timm",
            name,
            lambda name=name: timm.create_model(name, pretrained=False),  # type: ignore[misc]
            {"x": f"f32[n,3,{size},{size}]"},
        )
        for name, size in _TIMM.items()
    ]


def _transformers() -> list[Architecture]:
    import transformers

    small = {
        "vocab_size": 200,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
    }
    decoder = {**small, "use_cache": False, "num_key_value_heads": 2, "pad_token_id": 0}

    def made(
        name: str, config: str, inputs: Mapping[str, str] = _TOKENS, **options: Any
    ) -> Architecture:
        def build() -> torch.nn.Module:
            settings = getattr(transformers, config)(**options)
            module: torch.nn.Module = getattr(transformers, name)(settings)
            return module

        return Architecture("transformers", name, build, inputs)

    return [
        made("BertModel", "BertConfig", **small),
        made("RobertaModel", "RobertaConfig", **small),
        made("ElectraForSequenceClassification", "ElectraConfig", **small),
        made("AlbertModel", "AlbertConfig", embedding_size=32, **small),
        made("MPNetModel", "MPNetConfig", **small),
        made(
            "DebertaV2Model",
            "DebertaV2Config",
            relative_attention=True,
            pos_att_type=["p2c", "c2p"],
            **small,
        ),
        made(
            "MobileBertModel",
            "MobileBertConfig",
            embedding_size=32,
            true_hidden_size=32,
            intra_bottleneck_size=32,
            **small,
        ),
        made("RoFormerModel", "RoFormerConfig", **small),
        made(
            "ModernBertModel",
            "ModernBertConfig",
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            cls_token_id=1,
            sep_token_id=2,
            **small,
        ),
        made(
            "DistilBertForQuestionAnswering",
            "DistilBertConfig",
            vocab_size=200,
            dim=64,
            n_layers=2,
            n_heads=4,
            hidden_dim=128,
        ),
        made("FNetModel", "FNetConfig", {"input_ids": "i64[n,16]"}, **small),
        made("LongformerModel", "LongformerConfig", {**_TOKENS}, attention_window=8, **small),
        made(
            "XLNetModel",
            "XLNetConfig",
            vocab_size=200,
            d_model=64,
            n_layer=2,
            n_head=4,
            d_inner=128,
            use_mems_eval=False,
        ),
        made(
            "T5EncoderModel",
            "T5Config",
            vocab_size=200,
            d_model=64,
            d_kv=16,
            d_ff=128,
            num_layers=2,
            num_heads=4,
        ),
        made(
            "GPT2LMHeadModel",
            "GPT2Config",
            vocab_size=200,
            n_embd=64,
            n_layer=2,
            n_head=4,
            n_positions=64,
            use_cache=False,
        ),
        made("GPTNeoXForCausalLM", "GPTNeoXConfig", use_cache=False, **small),
        made("LlamaForCausalLM", "LlamaConfig", **decoder),
        made("MistralForCausalLM", "MistralConfig", **decoder),
        made("Qwen2ForCausalLM", "Qwen2Config", **decoder),
        made("Gemma2ForCausalLM", "Gemma2Config", head_dim=16, **decoder),
        made("PhiForCausalLM", "PhiConfig", **decoder),
        made(
            "MixtralForCausalLM",
            "MixtralConfig",
            num_local_experts=4,
            experts_implementation="batched_mm",  # the default's is an operator of its own
            **decoder,
        ),
        made(
            "MambaForCausalLM",
            "MambaConfig",
            {"input_ids": "i64[n,16]"},
            vocab_size=200,
            hidden_size=64,
            num_hidden_layers=2,
            state_size=8,
            use_cache=False,
        ),
        made("CLIPTextModel", "CLIPTextConfig", eos_token_id=2, **small),
        made(
            "CLIPVisionModel",
            "CLIPVisionConfig",
            {"pixel_values": "f32[n,3,64,64]"},
            image_size=64,
            patch_size=16,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
        ),
    ]
