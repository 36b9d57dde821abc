"""A typical pyopencl program for record_overhead.py: copies images to the device, smooths them three times and copies them
back, with new buffers for each step.

    record_overhead_program.py [IMAGES] [SIDE]
"""

import sys

import numpy as np
import pyopencl as cl

SOURCE = """
__kernel void smooth(__global const float* from, __global float* to, int side) {
  int x = get_global_id(0), y = get_global_id(1);
  float sum = 0;
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx)
      sum += from[clamp(y + dy, 0, side - 1) * side + clamp(x + dx, 0, side - 1)];
  to[y * side + x] = sum / 25;
}
"""


def main():
    images = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    side = int(sys.argv[2]) if len(sys.argv) > 2 else 512
    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    queue = cl.CommandQueue(context)
    smooth = cl.Program(context, SOURCE).build().smooth
    image = np.random.default_rng(1).random((side, side), dtype=np.float32)
    for _ in range(images):
        first = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=image)
        for _ in range(3):
            second = cl.Buffer(context, cl.mem_flags.READ_WRITE, image.nbytes)
            smooth(queue, (side, side), None, first, second, np.int32(side))
            first = second
        cl.enqueue_copy(queue, image, first)


if __name__ == "__main__":
    main()
