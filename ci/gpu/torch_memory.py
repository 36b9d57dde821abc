"""A program of torch that knows its device memory: `torch_memory.py cache|no-cache`, recorded by gpu-check.

no-cache: the driver is asked for each tensor, so the recorded peak must be the sum of the tensors' bytes. cache: the
recorded peak must be what torch says that its allocator reserved. Prints {"peak_bytes": …}; exits 77 without torch.
"""

import json
import os
import sys

SIZES = (64 << 20, 10_000_001, 4096, 3)  # bytes
FREED = 50_000_003

mode = sys.argv[1]
if mode == "no-cache":
    os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"  # read when the allocator is first used
try:
    import torch
except ImportError as error:
    print(f"torch is not installed: {error}")
    sys.exit(77)
if not torch.cuda.is_available():
    print("this torch has no CUDA")
    sys.exit(77)

# `empty` launches no kernel, so no module of torch's is loaded: its globals would be device memory too.
freed = torch.empty(FREED, dtype=torch.uint8, device="cuda")
del freed
tensors = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in SIZES]
torch.cuda.synchronize()
print(f"torch {torch.__version__}, {mode}: tensors of {', '.join(map(str, SIZES))} bytes, after one of {FREED}")
print(json.dumps({"peak_bytes": sum(SIZES) if mode == "no-cache" else torch.cuda.max_memory_reserved()}))
