"""bindings_program.py: memory of every kind through cuda-bindings. Prints its own accounting as JSON."""
import json

from cuda.bindings import driver

live = {}
peaks = {"device": 0}


def call(function, *arguments):
    error, *values = function(*arguments)
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"{function.__name__}: {driver.cuGetErrorName(error)[1].decode()}")
    return values[0] if len(values) == 1 else values


def note(key, kind, size):
    """Adds an allocation to the accounting. The recorder counts what is in the device's memory for the peak."""
    live[key] = (kind, size)
    for one in {kind, "device"}:
        counted = sum(s for k, s in live.values() if k == one or (one == "device" and k != "host"))
        peaks[one] = max(peaks.get(one, 0), counted)


def drop(key):
    del live[key]


def main():
    call(driver.cuInit, 0)
    device = call(driver.cuDeviceGet, 0)
    context = call(driver.cuDevicePrimaryCtxRetain, device)
    call(driver.cuCtxSetCurrent, context)
    stream = call(driver.cuStreamCreate, 0)

    plain = call(driver.cuMemAlloc, 1_000_003)
    note(int(plain), "plain", 1_000_003)
    pitched, pitch = call(driver.cuMemAllocPitch, 1000, 77, 4)
    note(int(pitched), "pitched", pitch * 77)
    managed = call(driver.cuMemAllocManaged, 30_000, driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL)
    note(int(managed), "managed", 30_000)
    ordered = call(driver.cuMemAllocAsync, 5_000, stream)
    note(int(ordered), "pool", 5_000)
    pinned = call(driver.cuMemHostAlloc, 4096, 0)
    note(("host", int(pinned)), "host", 4096)

    call(driver.cuMemFree, pitched)
    drop(int(pitched))
    again = call(driver.cuMemAlloc, 2_000_000)
    note(int(again), "plain", 2_000_000)
    call(driver.cuMemFreeAsync, ordered, stream)
    drop(int(ordered))
    call(driver.cuStreamSynchronize, stream)
    name = call(driver.cuDeviceGetName, 100, device).split(b"\0")[0].decode()
    left = sum(size for kind, size in live.values() if kind != "host")
    print(json.dumps({"device": name, "peak": peaks["device"], "left": left, "host": peaks["host"]}))


if __name__ == "__main__":
    main()
