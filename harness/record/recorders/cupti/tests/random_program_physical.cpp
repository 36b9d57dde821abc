// cuMemCreate, its mappings, sparse arrays and multicast objects of a random program.
#include "record/recorders/cupti/tests/random_program.hpp"

namespace {

constexpr std::size_t kStep = std::size_t{2} << 20;

}  // namespace

CUmemGenericAllocationHandle RandomProgram::make_chunk(Chunk& chunk) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  chunk.counts = !one_in(5);
  chunk.device = chunk.counts ? static_cast<int>(below(2)) : 0;
  properties.location.type = chunk.counts ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST;
  properties.location.id = chunk.device;
  chunk.bytes = static_cast<std::int64_t>(kStep * (1 + below(4)));
  CUmemGenericAllocationHandle handle = 0;
  const CUresult expected = refuse("refused-allocations");
  EXPECT_RESULT(cuMemCreate(&handle, static_cast<std::size_t>(chunk.bytes), &properties, 0), expected);
  if (expected != CUDA_SUCCESS) {
    ++account_.failed;
    return 0;
  }
  if (chunk.counts) account_.add(chunk.bytes, chunk.device);
  chunk.handles = {handle};
  return handle;
}

void RandomProgram::end_if_unheld(Chunk* chunk) {
  if (!chunk->handles.empty() || chunk->mappings > 0) return;
  if (chunk->counts) account_.remove(chunk->bytes, chunk->device);
  chunk->bytes = 0;
}

void RandomProgram::create_chunk() {
  if (std::ranges::count_if(chunks_, [](const Chunk& chunk) { return chunk.bytes != 0; }) > 30) return;
  Chunk chunk;
  if (make_chunk(chunk) != 0) chunks_.push_back(chunk);
}

void RandomProgram::map_chunk() {
  if (chunks_.empty()) return;
  Chunk& chunk = chunks_[below(chunks_.size())];
  if (chunk.handles.empty()) return;
  const auto bytes = static_cast<std::size_t>(chunk.bytes);
  // The memory is mapped with one mapping, or with one for each step.
  const std::size_t parts = one_in(2) ? 1 : bytes / kStep;
  CUdeviceptr address = 0;
  CHECK(cuMemAddressReserve(&address, bytes, 0, 0, 0));
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t offset = part * (bytes / parts);
    CHECK(cuMemMap(address + offset, bytes / parts, offset, chunk.handles.front(), 0));
    ++chunk.mappings;
  }
  CHECK(cuMemSetAccess(address, bytes, nullptr, 0));
  mapped_.push_back({address, parts, bytes, &chunk});
  if (one_in(2)) release_chunk();
}

void RandomProgram::unmap_chunk() {
  if (mapped_.empty()) return;
  const std::size_t place = below(mapped_.size());
  Mapped& mapped = mapped_[place];
  // It is not possible to unmap a part of a mapping.
  if (on("refused-releases") && one_in(4))
    EXPECT_RESULT(cuMemUnmap(mapped.address, mapped.bytes / mapped.parts / 2), CUDA_ERROR_INVALID_VALUE);
  const CUresult expected = refuse("refused-releases");
  EXPECT_RESULT(cuMemUnmap(mapped.address, mapped.bytes), expected);
  if (expected != CUDA_SUCCESS) return;
  CHECK(cuMemAddressFree(mapped.address, mapped.bytes));
  mapped.chunk->mappings -= static_cast<int>(mapped.parts);
  end_if_unheld(mapped.chunk);
  mapped = mapped_.back();
  mapped_.pop_back();
}

void RandomProgram::release_chunk() {
  if (chunks_.empty()) return;
  Chunk& chunk = chunks_[below(chunks_.size())];
  if (chunk.handles.empty()) return;
  const CUresult expected = refuse("refused-releases");
  EXPECT_RESULT(cuMemRelease(chunk.handles.back()), expected);
  if (expected != CUDA_SUCCESS) return;
  chunk.handles.pop_back();
  end_if_unheld(&chunk);
}

void RandomProgram::retain_chunk() {
  if (mapped_.empty()) return;
  const Mapped& mapped = mapped_[below(mapped_.size())];
  CUmemGenericAllocationHandle handle = 0;
  CHECK(cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(mapped.address + mapped.bytes / 2)));
  mapped.chunk->handles.push_back(handle);
}

/// A tile of a sparse array keeps its memory alive, as a mapping does.
void RandomProgram::map_array() {
  const CUDA_ARRAY3D_DESCRIPTOR base{1024, 1024, 0, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_SPARSE};
  CUarray array = nullptr;
  CHECK(cuArray3DCreate(&array, &base));
  Chunk& chunk = chunks_.emplace_back();
  const CUmemGenericAllocationHandle handle = make_chunk(chunk);
  if (handle != 0) {
    CUarrayMapInfo info{};
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = array;
    info.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
    info.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
    info.memHandle.memHandle = handle;
    info.deviceBitMask = 1;
    CHECK(cuMemMapArrayAsync(&info, 1, nullptr));
    CHECK(cuMemRelease(handle));
    chunk.handles.clear();
    chunk.mappings = 1;
    allocate_plain();  // while only the array holds it
    info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    info.memHandle.memHandle = 0;
    CHECK(cuMemMapArrayAsync(&info, 1, nullptr));
    chunk.mappings = 0;
    end_if_unheld(&chunk);
  }
  CHECK(cuArrayDestroy(array));
}

void RandomProgram::bind_multicast() {
  CUmulticastObjectProp properties{};
  properties.numDevices = 1;
  properties.size = kStep * 4;
  CUmemGenericAllocationHandle object = 0;
  CHECK(cuMulticastCreate(&object, &properties));
  Chunk& chunk = chunks_.emplace_back();
  const CUmemGenericAllocationHandle handle = make_chunk(chunk);
  if (handle != 0) {
    CHECK(cuMulticastBindMem(object, 0, handle, 0, static_cast<std::size_t>(chunk.bytes), 0));
    CHECK(cuMemRelease(handle));
    chunk.handles.clear();
    chunk.mappings = 1;
    allocate_plain();
    CHECK(cuMulticastUnbind(object, chunk.device, 0, static_cast<std::size_t>(chunk.bytes)));
    chunk.mappings = 0;
    end_if_unheld(&chunk);
  }
  CHECK(cuMemRelease(object));
}
