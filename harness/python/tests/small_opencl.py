"""Minimal OpenCL for tests, through ctypes: a context and buffers."""

import ctypes

_ALL_DEVICES = 0xFFFFFFFF
_library = ctypes.CDLL("libOpenCL.so.1")
_library.clCreateContext.restype = ctypes.c_void_p
_library.clCreateBuffer.restype = ctypes.c_void_p
_library.clCreateCommandQueue.restype = ctypes.c_void_p


class OpenCLError(RuntimeError):
    pass


class Context:
    def __init__(self, index=0):
        platform = ctypes.c_void_p()
        devices = (ctypes.c_void_p * (index + 1))()
        _check(_library.clGetPlatformIDs(1, ctypes.byref(platform), None))
        _check(_library.clGetDeviceIDs(platform, ctypes.c_uint64(_ALL_DEVICES), index + 1, devices, None))
        device = ctypes.c_void_p(devices[index])
        error = ctypes.c_int32()
        self._context = ctypes.c_void_p(
            _library.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error))
        )
        _check(error.value)
        self._device = device
        self._queue = None

    def buffer(self, size, flags=1):
        return Buffer(self._context, size, flags)

    def fill(self, buffer, size):
        """Enqueues a fill of the buffer's first bytes with zeros."""
        if self._queue is None:
            error = ctypes.c_int32()
            self._queue = ctypes.c_void_p(
                _library.clCreateCommandQueue(self._context, self._device, ctypes.c_uint64(0), ctypes.byref(error))
            )
            _check(error.value)
        _check(
            _library.clEnqueueFillBuffer(
                self._queue, ctypes.c_void_p(buffer.int_ptr), ctypes.byref(ctypes.c_ubyte(0)), ctypes.c_size_t(1),
                ctypes.c_size_t(0), ctypes.c_size_t(size), 0, None, None,
            )
        )  # fmt: skip

    def finish(self):
        _check(_library.clFinish(self._queue))


class Buffer:
    def __init__(self, context, size, flags):
        error = ctypes.c_int32()
        self.int_ptr = _library.clCreateBuffer(
            context, ctypes.c_uint64(flags), ctypes.c_size_t(size), None, ctypes.byref(error)
        )
        _check(error.value)

    def release(self):
        _check(_library.clReleaseMemObject(ctypes.c_void_p(self.int_ptr)))


def _check(error):
    if error != 0:
        raise OpenCLError(f"OpenCL error {error}")
