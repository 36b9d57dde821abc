"""The example of docs/python.md: memory and time of a blur against the size of its image."""

import numpy as np
import pyopencl as cl

import peakmark

SOURCE = """
kernel void blur_rows(global const float* image, global float* blurred, int n) {
  const int x = get_global_id(0), y = get_global_id(1);
  blurred[y * n + x] = (image[y * n + max(x - 1, 0)] + image[y * n + x] + image[y * n + min(x + 1, n - 1)]) / 3;
}
"""


def blur(n, passes):
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    program = cl.Program(context, SOURCE).build()
    with peakmark.phase("inputs"):
        images = [cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * n * n)]
    with peakmark.phase("call"):
        for _ in range(passes):
            images.append(cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * n * n))
            program.blur_rows(queue, (n, n), None, images[-2], images[-1], np.int32(n))
        queue.finish()


if __name__ == "__main__":
    found = peakmark.run(blur, {"n": [512, 1024, 2048], "passes": [1, 2]}, marked=True)
    print(found)
    print(found.frame[["axis:n", "axis:passes", "peak", "outcome"]])
