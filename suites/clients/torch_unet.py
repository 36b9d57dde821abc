"""Runs a step of inference or training of a U-Net with torch on a CUDA device.

    torch_unet.py [--allocator caching|none] [--step inference|training] [--width C] [--depth D] [--calls N] N NY NX

The input is n images of one channel, ny × nx, float32. `width` is the number of channels at full size; it doubles at each of
`depth` halvings. `caching`: torch's allocator keeps released memory; `none`: each tensor is allocated from the driver. Phases:
`setup` (the network), `inputs`, `call`. Prints torch's own peak figures in bytes as one line of JSON.
"""

import argparse
import json
import os
import sys

import peakmark

import client_program

SEED = 20260131


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--allocator", choices=["caching", "none"], default="caching")
    parser.add_argument("--step", choices=["inference", "training"], default="inference")
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("n", type=int)
    parser.add_argument("ny", type=int)
    parser.add_argument("nx", type=int)
    asked = parser.parse_args(words)
    if asked.ny % 2**asked.depth or asked.nx % 2**asked.depth:
        parser.error(f"ny and nx must be multiples of 2^depth = {2**asked.depth}")
    return asked


def import_torch(allocator):
    if allocator == "none":
        os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
    try:
        import torch
    except ImportError as error:
        client_program.unsupported(f"torch cannot be imported: {error}")
    if not torch.cuda.is_available():
        client_program.unsupported("no CUDA device found by torch")
    if torch.cuda.device_count() <= client_program.cuda_device_index():
        client_program.unsupported(f"no CUDA device {client_program.cuda_device_index()} found")
    torch.cuda.set_device(client_program.cuda_device_index())
    return torch


def make_unet(torch, width, depth):
    nn = torch.nn

    def twice(inputs, outputs):
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1),
            nn.ReLU(inplace=True),
        )

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            sizes = [width * 2**level for level in range(depth + 1)]
            self.down = nn.ModuleList(twice(before, after) for before, after in zip([1, *sizes[:-2]], sizes[:-1]))
            self.bottom = twice(sizes[-2], sizes[-1])
            self.up = nn.ModuleList(
                nn.ConvTranspose2d(above, below, 2, stride=2) for below, above in zip(sizes[-2::-1], sizes[:0:-1])
            )
            self.join = nn.ModuleList(twice(2 * size, size) for size in sizes[-2::-1])
            self.last = nn.Conv2d(width, 1, 1)

        def forward(self, images):
            kept = []
            for down in self.down:
                images = down(images)
                kept.append(images)
                images = nn.functional.max_pool2d(images, 2)
            images = self.bottom(images)
            for up, join in zip(self.up, self.join):
                images = join(torch.cat([up(images), kept.pop()], dim=1))
            return self.last(images)

    return UNet()


def make_step(torch, network, step):
    """Returns a function that runs one step on images."""
    if step == "inference":

        def infer(images):
            with torch.inference_mode():
                return network(images)

        return infer

    optimizer = torch.optim.Adam(network.parameters())

    def train(images):
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(network(images), images)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return train


def run(asked):
    torch = import_torch(asked.allocator)
    torch.manual_seed(SEED)
    # Makes cuDNN's choice of algorithms independent of free memory. Otherwise the peak differs between runs.
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    with peakmark.phase("setup"):
        network = make_unet(torch, asked.width, asked.depth).cuda()
        call = make_step(torch, network, asked.step)
    with peakmark.phase("inputs"):
        images = torch.rand(asked.n, 1, asked.ny, asked.nx).cuda()
    for _ in range(asked.calls):
        _result = None
        with peakmark.phase("call"):
            _result = call(images)
            torch.cuda.synchronize()
    peaks = {"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}
    print(json.dumps(peaks if asked.allocator == "caching" else {}))


def main():
    run(parse(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
