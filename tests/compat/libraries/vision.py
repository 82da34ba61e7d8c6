"""Images: networks, transforms, filters."""

from __future__ import annotations

from tests.compat.libraries.numbers import gradients, step


def timm__models() -> list[float]:
    import timm
    import torch

    numbers = []
    names = (
        "resnet18 convnext_atto vit_tiny_patch16_224 mobilenetv3_small_050 efficientnet_b0"
        " regnetx_002 densenet121 mixer_s32_224 swin_tiny_patch4_window7_224 edgenext_xx_small"
    )
    for name in names.split():
        torch.manual_seed(0)
        model = timm.create_model(name, num_classes=10)
        model.eval()
        numbers += step(model, torch.rand(1, 3, 224, 224))
    return numbers


def timm__training_parts() -> list[float]:
    import timm.data
    import timm.loss
    import timm.optim
    import timm.scheduler
    import torch

    torch.manual_seed(0)
    numbers = []
    for name in ("adamw", "lamb", "lion", "adopt", "nadamw", "adafactor", "muon"):
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
        optimizer = timm.optim.create_optimizer_v2(model, opt=name, lr=0.01)
        schedule = timm.scheduler.CosineLRScheduler(optimizer, t_initial=5, warmup_t=2)
        mixup = timm.data.Mixup(num_classes=3)
        for epoch in range(4):
            loss = timm.loss.LabelSmoothingCrossEntropy()(
                model(torch.rand(6, 4)), torch.arange(6) % 3
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step(epoch)
        numbers += [float(loss.detach()), mixup.mixup_alpha]
    return numbers


def torchvision__models() -> list[float]:
    import torch
    import torchvision.models as models

    numbers = []
    for name in ("resnet18", "mobilenet_v2", "squeezenet1_1", "shufflenet_v2_x0_5", "vgg11"):
        torch.manual_seed(0)
        model = getattr(models, name)(num_classes=5)
        model.eval()
        numbers += step(model, torch.rand(1, 3, 64, 64))
    return numbers


def torchvision__transforms() -> list[float]:
    import torch
    from torchvision import transforms
    from torchvision.transforms import v2

    torch.manual_seed(0)
    image = torch.randint(0, 256, (3, 40, 50), dtype=torch.uint8)
    numbers = []
    for kit in (transforms, v2):
        torch.manual_seed(1)
        pipe = kit.Compose(
            [
                kit.Resize(32, antialias=True),
                kit.RandomHorizontalFlip(),
                kit.RandomCrop(28, padding=2),
                kit.ColorJitter(0.2, 0.2, 0.2),
                kit.ConvertImageDtype(torch.float32)
                if kit is transforms
                else kit.ToDtype(torch.float32, scale=True),
                kit.Normalize((0.5,) * 3, (0.2,) * 3),
            ]
        )
        numbers += [float(pipe(image).mean()), float(pipe(image).std())]
        turned = kit.functional.rotate(image.float(), 30.0)
        numbers.append(float(turned.mean()))
        numbers.append(float(kit.functional.gaussian_blur(image.float(), [3, 3]).std()))
    return numbers


def torchvision__feature_extraction() -> list[float]:
    import torch
    from torchvision.models import resnet18
    from torchvision.models.feature_extraction import create_feature_extractor

    torch.manual_seed(0)
    model = create_feature_extractor(resnet18().eval(), {"layer1": "a", "layer3": "b"})
    out = model(torch.rand(1, 3, 64, 64))
    return [float(out["a"].mean()), float(out["b"].mean())]


def torchvision__ops() -> list[float]:
    import torch
    from torchvision import ops

    boxes = torch.tensor([[0.0, 0, 10, 10], [5, 5, 15, 15], [20, 20, 30, 30]])
    return [
        float(ops.box_iou(boxes, boxes).sum()),
        float(ops.generalized_box_iou(boxes, boxes).sum()),
        float(ops.sigmoid_focal_loss(torch.ones(3), torch.zeros(3)).sum()),
        float(ops.box_area(boxes).sum()),
    ]


def kornia__filters() -> list[float]:
    import kornia
    import torch

    torch.manual_seed(0)
    image = torch.rand(1, 3, 24, 24)
    gray = kornia.color.rgb_to_grayscale(image)
    return [
        float(kornia.filters.gaussian_blur2d(image, (3, 3), (1.5, 1.5)).std()),
        float(kornia.filters.sobel(gray).mean()),
        float(kornia.filters.median_blur(image, (3, 3)).mean()),
        float(kornia.color.rgb_to_hsv(image).mean()),
        float(kornia.color.rgb_to_lab(image).mean()),
        float(kornia.losses.ssim_loss(image, image.flip(-1), 5)),
        float(kornia.geometry.transform.rotate(image, torch.tensor([30.0])).mean()),
        float(kornia.geometry.transform.resize(image, (12, 12), antialias=True).mean()),
    ]


def kornia__augmentation() -> list[float]:
    import kornia.augmentation as augmentation
    import torch

    torch.manual_seed(0)
    pipe = augmentation.AugmentationSequential(
        augmentation.RandomHorizontalFlip(p=1.0),
        augmentation.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
        augmentation.RandomAffine(20.0, p=1.0),
    )
    return [float(pipe(torch.rand(2, 3, 16, 16)).mean())]


def monai__network() -> list[float]:
    import torch
    from monai.losses import DiceLoss
    from monai.networks.nets import UNet

    torch.manual_seed(0)
    model = UNet(2, 1, 2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1).eval()
    out = model(torch.rand(1, 1, 32, 32))
    loss = DiceLoss(softmax=True, to_onehot_y=True)(out, torch.ones(1, 1, 32, 32))
    loss.backward()
    return [float(loss.detach()), *gradients(model)]


def monai__transforms() -> list[float]:
    import torch
    from monai.transforms import Compose, GaussianSmooth, Rotate90, ScaleIntensity, Zoom

    torch.manual_seed(0)
    pipe = Compose([ScaleIntensity(), Rotate90(), GaussianSmooth(1.0), Zoom(1.5)])
    out = pipe(torch.rand(1, 16, 16))
    return [float(out.mean()), float(out.std())]
