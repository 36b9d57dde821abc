// Pools and graphs of a random program.
#include "record/recorders/cupti/tests/random_program.hpp"

// cuda.h declares these functions only with the per-thread default stream.
extern "C" {
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* dptr, size_t bytesize, CUstream hStream);
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                      CUstream hStream);
CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream);
CUresult cuGraphLaunch_ptsz(CUgraphExec hGraphExec, CUstream hStream);
}

CUstream RandomProgram::some_stream() {
  const CUstream streams[] = {nullptr, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
  return streams[below(3)];
}

void RandomProgram::allocate_async() {
  if (items_.size() > 60) return free_item();
  const std::int64_t bytes = some_bytes();
  const CUstream stream = some_stream();
  CUdeviceptr address = 0;
  const CUresult expected = refuse("refused-allocations");
  const CUresult result =
      one_in(2) ? cuMemAllocAsync(&address, bytes, stream) : cuMemAllocAsync_ptsz(&address, bytes, stream);
  allocated(result, expected,
            {.address = address,
             .bytes = bytes,
             .device = current_->device,
             .made_in = current_,
             .pool = current_pool_[current_->device]});
}

void RandomProgram::allocate_from_pool() {
  std::vector<Pool*> there;
  for (Pool& pool : pools_) {
    if (!pool.destroyed) there.push_back(&pool);
  }
  if (items_.size() > 60) return free_item();
  Pool& pool = *there[below(there.size())];
  const std::int64_t bytes = some_bytes();
  const CUstream stream = some_stream();
  CUdeviceptr address = 0;
  const CUresult expected = refuse("refused-allocations");
  const CUresult result = one_in(2) ? cuMemAllocFromPoolAsync(&address, bytes, pool.handle, stream)
                                    : cuMemAllocFromPoolAsync_ptsz(&address, bytes, pool.handle, stream);
  allocated(result, expected,
            {.address = address,
             .bytes = pool.counts ? bytes : 0,
             .device = pool.device,
             .made_in = current_,
             .pool = &pool});
}

void RandomProgram::allocate_from_host_pool() {
  CUmemLocation host{};
  host.type = CU_MEM_LOCATION_TYPE_HOST;
  CUmemoryPool pool = nullptr;
  CHECK(one_in(2) ? cuMemGetDefaultMemPool(&pool, &host, CU_MEM_ALLOCATION_TYPE_PINNED)
                  : cuMemGetMemPool(&pool, &host, CU_MEM_ALLOCATION_TYPE_PINNED));
  CUdeviceptr address = 0;
  const CUresult result = cuMemAllocFromPoolAsync(&address, some_bytes(), pool, nullptr);
  allocated(result, CUDA_SUCCESS, {.address = address, .made_in = current_});
}

void RandomProgram::create_pool() {
  if (pools_.size() > 20) return;
  CUmemPoolProps properties{};
  Pool pool;
  pool.device = static_cast<int>(below(2));
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = pool.device;
  properties.allocType = one_in(4) ? CU_MEM_ALLOCATION_TYPE_MANAGED : CU_MEM_ALLOCATION_TYPE_PINNED;
  pool.counts = !one_in(4);
  if (!pool.counts) {
    properties.location.type = CU_MEM_LOCATION_TYPE_HOST;
    properties.location.id = pool.device = 0;
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  }
  CHECK(cuMemPoolCreate(&pool.handle, &properties));
  pools_.push_back(pool);
  if (pool.counts && properties.allocType == CU_MEM_ALLOCATION_TYPE_PINNED && one_in(3)) {
    CHECK(cuDeviceSetMemPool(pool.device, pool.handle));
    current_pool_[pool.device] = &pools_.back();
  }
}

void RandomProgram::destroy_pool() {
  Pool& pool = pools_[below(pools_.size())];
  if (pool.is_default || pool.destroyed) return;
  const bool holds = std::ranges::any_of(items_, [&](const Item& item) { return item.pool == &pool; });
  if (holds && !on("destroyed-pool")) return;
  const CUresult expected = refuse("refused-releases");
  EXPECT_RESULT(cuMemPoolDestroy(pool.handle), expected);
  if (expected != CUDA_SUCCESS) return;
  pool.destroyed = true;
  if (current_pool_[pool.device] == &pool)
    current_pool_[pool.device] = &pools_[static_cast<std::size_t>(pool.device)];
}

void RandomProgram::trim_pool() {
  Pool& pool = pools_[below(pools_.size())];
  if (!pool.destroyed) CHECK(cuMemPoolTrimTo(pool.handle, 0));
}

/// Memory of a graph is not part of the peak.
void RandomProgram::capture() {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUdeviceptr address = 0;
  CHECK(cuStreamCreate(&stream, 0));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(one_in(2) ? cuMemAllocAsync(&address, 5000, stream) : cuMemAllocAsync_ptsz(&address, 5000, stream));
  const bool frees = one_in(2);
  if (frees) CHECK(one_in(2) ? cuMemFreeAsync(address, stream) : cuMemFreeAsync_ptsz(address, stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(one_in(2) ? cuGraphLaunch(exec, nullptr) : cuGraphLaunch_ptsz(exec, nullptr));
  if (!frees) CHECK(one_in(2) ? cuMemFreeAsync(address, nullptr) : cuMemFree(address));
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
  CHECK(cuStreamDestroy(stream));
}

void RandomProgram::build_graph() {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode node = nullptr;
  CUdeviceptr address = 0;
  CHECK(cuGraphCreate(&graph, 0));
  if (one_in(2)) {
    CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
    parameters.bytesize = 7000;
    CHECK(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &parameters));
    address = parameters.dptr;
  } else {
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    parameters.alloc.bytesize = 8000;
    CHECK(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters));
    address = parameters.alloc.dptr;
  }
  const bool frees = one_in(2);
  if (frees) CHECK(cuGraphAddMemFreeNode(&node, graph, nullptr, 0, address));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, nullptr));
  if (!frees) CHECK(cuMemFree(address));
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
}

/// Imported memory adds no bytes.
void RandomProgram::import_memory() {
  for (const Item& item : items_) {
    if (item.how != Item::How::free) continue;
    CUipcMemHandle handle{};
    CUdeviceptr address = 0;
    CHECK(cuIpcGetMemHandle(&handle, item.address));
    CHECK(cuIpcOpenMemHandle(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CHECK(cuIpcCloseMemHandle(address));
    CUmemPoolPtrExportData data{};
    CHECK(cuMemPoolImportPointer(&address, pools_[0].handle, &data));
    CHECK(cuMemFreeAsync(address, nullptr));
    return;
  }
}
