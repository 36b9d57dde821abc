// Copies, fills and launches of the fake driver. Kernels do nothing.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "record/recorders/cupti/tests/fake_libcuda.hpp"

using fake_cuda::enqueue;
using fake_cuda::number;
using fake_cuda::State;

namespace {

// Longer copies and fills write zeros to the device, so that the memory takes no space.
constexpr std::size_t kMaxWritten = std::size_t{16} << 20;

/// Returns whether the bytes are in memory that the program has. A host pointer that the driver does not know
/// is valid too, as with a driver that can read pageable memory.
bool is_valid(State& s, std::uint64_t address, std::size_t bytes) {
  if (const auto found = fake_cuda::find_memory(s, address); found != s.memory.end())
    return bytes <= found->second.bytes - (address - found->first) ||
           found->second.kind == fake_cuda::Kind::imported;
  return !s.addresses.contains(address) && !s.host_addresses.contains(address);
}

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

void make_zero(std::uint64_t address, std::size_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t first = (address + page - 1) / page * page;
  const std::uint64_t last = (address + bytes) / page * page;
  if (first >= last) {
    std::memset(pointer(address), 0, bytes);
    return;
  }
  std::memset(pointer(address), 0, first - address);
  madvise(pointer(first), last - first, MADV_DONTNEED);
  std::memset(pointer(last), 0, address + bytes - last);
}

/// A block of rows in memory.
struct Rows {
  std::uint64_t first;
  std::size_t pitch;
  std::size_t slice;  ///< bytes from a plane to the next

  [[nodiscard]] std::uint64_t row(std::size_t y, std::size_t z) const {
    return first + z * slice + y * pitch;
  }
};

CUresult copy_rows(State& s, const Rows& to, const Rows& from, std::size_t width, std::size_t height,
                   std::size_t depth) {
  if (width == 0 || height == 0 || depth == 0) return CUDA_SUCCESS;
  for (const Rows* rows : {&to, &from}) {
    if (!is_valid(s, rows->first, rows->row(height - 1, depth - 1) + width - rows->first))
      return CUDA_ERROR_INVALID_VALUE;
  }
  const bool is_large = s.addresses.contains(to.first) && width * height * depth > kMaxWritten;
  for (std::size_t z = 0; z < depth; ++z) {
    for (std::size_t y = 0; y < height; ++y) {
      if (is_large) {
        make_zero(to.row(y, z), width);
      } else {
        std::memmove(pointer(to.row(y, z)), pointer(from.row(y, z)), width);
      }
    }
  }
  return CUDA_SUCCESS;
}

CUresult copy(State& s, CUstream stream, std::uint64_t to, std::uint64_t from, std::size_t bytes) {
  if (const CUresult result = enqueue(stream, "cuMemcpy", false); result != CUDA_SUCCESS) return result;
  if (fake_cuda::is_created(stream) && stream->capture != nullptr) return CUDA_SUCCESS;
  return copy_rows(s, {to, 0, 0}, {from, 0, 0}, bytes, 1, 1);
}

/// Copies between memory. Arrays are not supported, because their contents are not stored.
CUresult copy(State& s, CUstream stream, const CUDA_MEMCPY3D& c) {
  if (const CUresult result = enqueue(stream, "cuMemcpy3D", false); result != CUDA_SUCCESS) return result;
  if (c.srcMemoryType == CU_MEMORYTYPE_ARRAY || c.dstMemoryType == CU_MEMORYTYPE_ARRAY) return CUDA_SUCCESS;
  const std::uint64_t from = c.srcMemoryType == CU_MEMORYTYPE_HOST ? number(c.srcHost) : c.srcDevice;
  const std::uint64_t to = c.dstMemoryType == CU_MEMORYTYPE_HOST ? number(c.dstHost) : c.dstDevice;
  const auto rows = [](std::uint64_t first, std::size_t pitch, std::size_t height, std::size_t x,
                       std::size_t y, std::size_t z) {
    return Rows{first + x + y * pitch + z * pitch * height, pitch, pitch * height};
  };
  return copy_rows(s, rows(to, c.dstPitch, c.dstHeight, c.dstXInBytes, c.dstY, c.dstZ),
                   rows(from, c.srcPitch, c.srcHeight, c.srcXInBytes, c.srcY, c.srcZ), c.WidthInBytes,
                   c.Height, c.Depth);
}

CUresult copy(State& s, CUstream stream, const CUDA_MEMCPY2D& c) {
  CUDA_MEMCPY3D whole{};
  whole.srcXInBytes = c.srcXInBytes;
  whole.srcY = c.srcY;
  whole.srcMemoryType = c.srcMemoryType;
  whole.srcHost = c.srcHost;
  whole.srcDevice = c.srcDevice;
  whole.srcPitch = c.srcPitch == 0 ? c.WidthInBytes : c.srcPitch;
  whole.dstXInBytes = c.dstXInBytes;
  whole.dstY = c.dstY;
  whole.dstMemoryType = c.dstMemoryType;
  whole.dstHost = c.dstHost;
  whole.dstDevice = c.dstDevice;
  whole.dstPitch = c.dstPitch == 0 ? c.WidthInBytes : c.dstPitch;
  whole.WidthInBytes = c.WidthInBytes;
  whole.Height = c.Height;
  whole.Depth = 1;
  return copy(s, stream, whole);
}

template <typename Element>
CUresult fill(State& s, CUstream stream, std::uint64_t to, std::size_t pitch, Element value,
              std::size_t width, std::size_t height) {
  if (const CUresult result = enqueue(stream, "cuMemset", false); result != CUDA_SUCCESS) return result;
  if (fake_cuda::is_created(stream) && stream->capture != nullptr) return CUDA_SUCCESS;
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  const std::size_t row = width * sizeof(Element);
  if (!is_valid(s, to, (height - 1) * pitch + row)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t y = 0; y < height; ++y) {
    if (row * height > kMaxWritten || value == 0) {
      make_zero(to + y * pitch, row);
    } else {
      std::fill_n(static_cast<Element*>(pointer(to + y * pitch)), width, value);
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

FAKE_VARIANTS(cuMemcpy, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes),
              [&](State& s) { return copy(s, nullptr, to, from, bytes); })
FAKE_VARIANTS(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr to, const void* from, size_t bytes), (to, from, bytes),
              [&](State& s) { return copy(s, nullptr, to, number(from), bytes); })
FAKE_VARIANTS(cuMemcpyDtoH_v2, _ptds, (void* to, CUdeviceptr from, size_t bytes), (to, from, bytes),
              [&](State& s) { return copy(s, nullptr, number(to), from, bytes); })
FAKE_VARIANTS(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes),
              [&](State& s) { return copy(s, nullptr, to, from, bytes); })
FAKE_VARIANTS(cuMemcpyPeer, _ptds,
              (CUdeviceptr to, CUcontext ofTo, CUdeviceptr from, CUcontext ofFrom, size_t bytes),
              (to, ofTo, from, ofFrom, bytes), [&](State& s) { return copy(s, nullptr, to, from, bytes); })
FAKE_VARIANTS(cuMemcpyAsync, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
              (to, from, bytes, stream), [&](State& s) { return copy(s, stream, to, from, bytes); })
FAKE_VARIANTS(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
              (to, from, bytes, stream), [&](State& s) { return copy(s, stream, to, number(from), bytes); })
FAKE_VARIANTS(cuMemcpyDtoHAsync_v2, _ptsz, (void* to, CUdeviceptr from, size_t bytes, CUstream stream),
              (to, from, bytes, stream), [&](State& s) { return copy(s, stream, number(to), from, bytes); })
FAKE_VARIANTS(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
              (to, from, bytes, stream), [&](State& s) { return copy(s, stream, to, from, bytes); })
FAKE_VARIANTS(cuMemcpyPeerAsync, _ptsz,
              (CUdeviceptr to, CUcontext ofTo, CUdeviceptr from, CUcontext ofFrom, size_t bytes,
               CUstream stream),
              (to, ofTo, from, ofFrom, bytes, stream),
              [&](State& s) { return copy(s, stream, to, from, bytes); })
FAKE_VARIANTS(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* p), (p),
              [&](State& s) { return copy(s, nullptr, *p); })
FAKE_VARIANTS(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* p), (p),
              [&](State& s) { return copy(s, nullptr, *p); })
FAKE_VARIANTS(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* p), (p),
              [&](State& s) { return copy(s, nullptr, *p); })
FAKE_VARIANTS(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* p, CUstream stream), (p, stream),
              [&](State& s) { return copy(s, stream, *p); })
FAKE_VARIANTS(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* p, CUstream stream), (p, stream),
              [&](State& s) { return copy(s, stream, *p); })

// The four calls that fill memory with values of a given number of bits.
#define FAKE_FILLS(bits, Value)                                                                              \
  FAKE_VARIANTS(cuMemsetD##bits##_v2, _ptds, (CUdeviceptr to, Value value, size_t count),                    \
                (to, value, count), [&](State& s) { return fill(s, nullptr, to, 0, value, count, 1); })      \
  FAKE_VARIANTS(cuMemsetD##bits##Async, _ptsz, (CUdeviceptr to, Value value, size_t count, CUstream stream), \
                (to, value, count, stream),                                                                  \
                [&](State& s) { return fill(s, stream, to, 0, value, count, 1); })                           \
  FAKE_VARIANTS(cuMemsetD2D##bits##_v2, _ptds,                                                               \
                (CUdeviceptr to, size_t pitch, Value value, size_t width, size_t height),                    \
                (to, pitch, value, width, height),                                                           \
                [&](State& s) { return fill(s, nullptr, to, pitch, value, width, height); })                 \
  FAKE_VARIANTS(cuMemsetD2D##bits##Async, _ptsz,                                                             \
                (CUdeviceptr to, size_t pitch, Value value, size_t width, size_t height, CUstream stream),   \
                (to, pitch, value, width, height, stream),                                                   \
                [&](State& s) { return fill(s, stream, to, pitch, value, width, height); })
FAKE_FILLS(8, unsigned char)
FAKE_FILLS(16, unsigned short)
FAKE_FILLS(32, unsigned int)
#undef FAKE_FILLS

FAKE_VARIANTS(cuMemPrefetchAsync_v2, _ptsz,
              (CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned int flags,
               CUstream stream),
              (address, bytes, location, flags, stream),
              [&](State& /*s*/) { return enqueue(stream, "cuMemPrefetchAsync", false); })
CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  FAKE_CALL(cuMemAdvise_v2, address, bytes, advice, location)([&](State& /*s*/) { return CUDA_SUCCESS; });
}

FAKE_VARIANTS(cuLaunchKernel, _ptsz,
              (CUfunction f, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
               unsigned blockZ, unsigned shared, CUstream stream, void** parameters, void** extra),
              (f, gridX, gridY, gridZ, blockX, blockY, blockZ, shared, stream, parameters, extra),
              [&](State& /*s*/) { return enqueue(stream, "cuLaunchKernel", true); })
FAKE_VARIANTS(cuLaunchCooperativeKernel, _ptsz,
              (CUfunction f, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
               unsigned blockZ, unsigned shared, CUstream stream, void** parameters),
              (f, gridX, gridY, gridZ, blockX, blockY, blockZ, shared, stream, parameters),
              [&](State& /*s*/) { return enqueue(stream, "cuLaunchCooperativeKernel", true); })
FAKE_VARIANTS(cuLaunchKernelEx, _ptsz,
              (const CUlaunchConfig* config, CUfunction f, void** parameters, void** extra),
              (config, f, parameters, extra),
              [&](State& /*s*/) { return enqueue(config->hStream, "cuLaunchKernelEx", true); })

// Calls of CUDA 2 that PyCUDA still makes.
CUresult cuFuncSetBlockShape(CUfunction f, int x, int y, int z) {
  FAKE_CALL(cuFuncSetBlockShape, f, x, y, z)([&](State& /*s*/) { return CUDA_SUCCESS; });
}
CUresult cuFuncSetSharedSize(CUfunction f, unsigned int bytes) {
  FAKE_CALL(cuFuncSetSharedSize, f, bytes)([&](State& /*s*/) { return CUDA_SUCCESS; });
}
CUresult cuParamSetSize(CUfunction f, unsigned int bytes) {
  FAKE_CALL(cuParamSetSize, f, bytes)([&](State& /*s*/) { return CUDA_SUCCESS; });
}
CUresult cuParamSeti(CUfunction f, int offset, unsigned int value) {
  FAKE_CALL(cuParamSeti, f, offset, value)([&](State& /*s*/) { return CUDA_SUCCESS; });
}
CUresult cuParamSetf(CUfunction f, int offset, float value) {
  FAKE_CALL(cuParamSetf, f, offset, value)([&](State& /*s*/) { return CUDA_SUCCESS; });
}
CUresult cuParamSetv(CUfunction f, int offset, void* from, unsigned int bytes) {
  FAKE_CALL(cuParamSetv, f, offset, from, bytes)([&](State& /*s*/) { return CUDA_SUCCESS; });
}
CUresult cuLaunch(CUfunction f) {
  FAKE_CALL(cuLaunch, f)([&](State& /*s*/) { return enqueue(nullptr, "cuLaunch", true); });
}
CUresult cuLaunchGrid(CUfunction f, int width, int height) {
  FAKE_CALL(cuLaunchGrid, f, width, height)
  ([&](State& /*s*/) { return enqueue(nullptr, "cuLaunchGrid", true); });
}
CUresult cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream) {
  FAKE_CALL(cuLaunchGridAsync, f, width, height, stream)
  ([&](State& /*s*/) { return enqueue(stream, "cuLaunchGridAsync", true); });
}

}  // extern "C"
