"""torch_program.py [adam|leak|batch BYTES]: torch on the fake driver. Prints max_memory_reserved of its allocator as JSON."""
import json
import sys

import peakmark
import torch

kept = []


def adam():
    """A step of Adam: parameters, gradients and two moments, in segments of the caching allocator."""
    size = 64 << 20
    parameter = torch.nn.Parameter(torch.empty(size, device="cuda"))
    optimizer = torch.optim.Adam([parameter], foreach=False, fused=False)
    parameter.grad = torch.ones(size, device="cuda")
    optimizer.step()


def network():
    layers = [torch.nn.Linear(1000, 1000) for _ in range(4)]
    model = torch.nn.Sequential(*layers).to("cuda")
    values = torch.ones(1 << 22, device="cuda")
    for _ in range(3):
        values = values * 2 + 1
    host = torch.arange(10_000, dtype=torch.float32)
    assert torch.equal(host.to("cuda").cpu(), host)  # what was copied there; kernels of a fake do nothing
    del model


def leak():
    kept.append(torch.empty(30 << 20, dtype=torch.uint8, device="cuda"))


def main():
    word = sys.argv[1] if len(sys.argv) > 1 else "network"
    if word == "leak":
        peakmark.repeat_call(leak)
    elif word == "batch":
        try:
            torch.empty(int(sys.argv[2]), dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(1) from None
    else:
        {"adam": adam, "network": network}[word]()
    torch.cuda.synchronize()
    print(json.dumps({"device": torch.cuda.get_device_name(), "peak": torch.cuda.max_memory_reserved()}))


if __name__ == "__main__":
    main()
