// Pools, stream-ordered memory and graphs of the fake driver.
#include <algorithm>
#include <utility>

#include "record/recorders/cupti/tests/fake_libcuda.hpp"

using fake_cuda::check_alive;
using fake_cuda::current_context;
using fake_cuda::Kind;
using fake_cuda::State;

namespace {

bool is_capturing(CUstream stream) {
  const bool is_special = stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
  if (!is_special && !stream->alive)
    fake_cuda::abort_with("a stream-ordered call", "a stream that was destroyed");
  return !is_special && stream->capture != nullptr;
}

CUdeviceptr add_node(State& s, CUgraph graph, std::size_t bytes) {
  const CUdeviceptr address = s.addresses.take();
  graph->nodes.push_back({address, bytes, false, false});
  return address;
}

/// Allocates from `pool`, or from the current pool of the stream's device.
CUresult allocate(State& s, CUdeviceptr* dptr, std::size_t bytes, CUmemoryPool pool, CUstream stream) {
  if (pool != nullptr) check_alive(pool, "cuMemAllocFromPoolAsync");
  CUcontext context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (is_capturing(stream)) {
    *dptr = add_node(s, stream->capture, bytes);
    return CUDA_SUCCESS;
  }
  if (pool == nullptr) pool = s.current_pool[context->device];
  const bool on_device = pool->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  const CUdevice device = on_device ? pool->location.id : 0;
  if (on_device) {
    const CUresult result = fake_cuda::take_bytes(device, bytes);
    if (result != CUDA_SUCCESS) return result;
  }
  pool->used += bytes;
  pool->reserved = std::max(pool->reserved, pool->used);
  ++pool->allocations;
  *dptr = s.addresses.take();
  s.memory[*dptr] = {.bytes = bytes, .kind = Kind::pool, .pool = pool, .device = device};
  return CUDA_SUCCESS;
}

CUresult release(State& s, CUdeviceptr dptr, CUstream stream) {
  CUcontext context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (is_capturing(stream)) {
    for (auto& node : stream->capture->nodes) {
      if (node.address == dptr) node.freed_in_graph = true;
    }
    return CUDA_SUCCESS;
  }
  const auto found = s.memory.find(dptr);
  if (found == s.memory.end()) return CUDA_ERROR_INVALID_VALUE;
  const Kind kind = found->second.kind;
  const bool is_freed_so = kind == Kind::pool || kind == Kind::plain || kind == Kind::managed ||
                           kind == Kind::graph || kind == Kind::imported;
  if (!is_freed_so) return CUDA_ERROR_INVALID_VALUE;
  fake_cuda::end_memory(found);
  return CUDA_SUCCESS;
}

CUresult launch(State& s, CUgraphExec exec) {
  CUcontext context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  std::size_t bytes = 0;
  for (auto& node : exec->graph->nodes) {
    bytes += node.bytes;
    if (!node.freed_in_graph && !s.memory.contains(node.address))
      s.memory[node.address] = {.bytes = node.bytes, .kind = Kind::graph, .device = context->device};
  }
  s.graph_reserved[context->device] = std::max(s.graph_reserved[context->device], bytes);
  fake_cuda::show_kernel(context, 0);
  return CUDA_SUCCESS;
}

CUmemoryPool* decode_pool(State& s, const CUmemLocation& location, CUmemAllocationType type,
                          CUmemoryPool& fixed) {
  if (type == CU_MEM_ALLOCATION_TYPE_MANAGED) {
    fixed = &s.managed_pool;
    return &fixed;
  }
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    fixed = &s.host_pool;
    return &fixed;
  }
  return &s.current_pool[location.id];
}

}  // namespace

extern "C" {

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
  FAKE_CALL(cuMemPoolCreate, pool, props)
  ([&](State& s) {
    if (s.reuse_handles && !s.free_pools.empty()) {
      *pool = s.free_pools.back();
      s.free_pools.pop_back();
      **pool = {};
    } else {
      *pool = &s.pools.emplace_back();
    }
    (*pool)->location = props->location;
    (*pool)->type = props->allocType;
    (*pool)->alive = true;
    return CUDA_SUCCESS;
  });
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  FAKE_CALL(cuMemPoolDestroy, pool)
  ([&](State& s) {
    check_alive(pool, "cuMemPoolDestroy");
    if (pool->is_default) return CUDA_ERROR_INVALID_VALUE;
    pool->alive = false;
    for (int device = 0; device < fake_cuda::kDevices; ++device) {
      if (s.current_pool[device] == pool) s.current_pool[device] = &s.default_pool[device];
    }
    if (pool->allocations == 0) s.free_pools.push_back(pool);
    return CUDA_SUCCESS;
  });
}
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  FAKE_CALL(cuMemPoolTrimTo, pool, keep)
  ([&](State& /*s*/) {
    check_alive(pool, "cuMemPoolTrimTo");
    pool->reserved = std::max(pool->used, std::min(pool->reserved, keep));
    return CUDA_SUCCESS;
  });
}
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  FAKE_CALL(cuMemPoolGetAttribute, pool, attr, value)
  ([&](State& /*s*/) {
    check_alive(pool, "cuMemPoolGetAttribute");
    switch (attr) {
      case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        *static_cast<cuuint64_t*>(value) = pool->used;
        break;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        *static_cast<cuuint64_t*>(value) = pool->reserved;
        break;
      case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *static_cast<cuuint64_t*>(value) = pool->release_threshold;
        break;
      case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *static_cast<int*>(value) = 1;
        break;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  FAKE_CALL(cuMemPoolSetAttribute, pool, attr, value)
  ([&](State& /*s*/) {
    check_alive(pool, "cuMemPoolSetAttribute");
    if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) pool->release_threshold = *static_cast<cuuint64_t*>(value);
    return CUDA_SUCCESS;
  });
}
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  FAKE_CALL(cuMemPoolSetAccess, pool, map, count)
  ([&](State& /*s*/) {
    check_alive(pool, "cuMemPoolSetAccess");
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
  FAKE_CALL(cuDeviceGetDefaultMemPool, pool_out, dev)
  ([&](State& s) {
    *pool_out = &s.default_pool[dev];
    return CUDA_SUCCESS;
  });
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
  FAKE_CALL(cuDeviceGetMemPool, pool, dev)
  ([&](State& s) {
    *pool = s.current_pool[dev];
    return CUDA_SUCCESS;
  });
}
CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  FAKE_CALL(cuDeviceSetMemPool, dev, pool)
  ([&](State& s) {
    check_alive(pool, "cuDeviceSetMemPool");
    s.current_pool[dev] = pool;
    return CUDA_SUCCESS;
  });
}
CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool_out, CUmemLocation* location, CUmemAllocationType type) {
  FAKE_CALL(cuMemGetDefaultMemPool, pool_out, location, type)
  ([&](State& s) {
    CUmemoryPool fixed = nullptr;
    const bool is_device = decode_pool(s, *location, type, fixed) != &fixed;
    *pool_out = is_device ? &s.default_pool[location->id] : fixed;
    return CUDA_SUCCESS;
  });
}
CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  FAKE_CALL(cuMemGetMemPool, pool, location, type)
  ([&](State& s) {
    CUmemoryPool fixed = nullptr;
    *pool = *decode_pool(s, *location, type, fixed);
    return CUDA_SUCCESS;
  });
}

// An imported pool, which in reality is a pool of this process. It allocates nothing.
CUresult cuMemPoolImportPointer(CUdeviceptr* ptr_out, CUmemoryPool pool, CUmemPoolPtrExportData* data) {
  FAKE_CALL(cuMemPoolImportPointer, ptr_out, pool, data)
  ([&](State& s) {
    check_alive(pool, "cuMemPoolImportPointer");
    *ptr_out = s.addresses.take();
    s.memory[*ptr_out] = {.bytes = 0, .kind = Kind::imported};
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  FAKE_CALL(cuMemAllocAsync, dptr, bytesize, hStream)
  ([&](State& s) { return allocate(s, dptr, bytesize, nullptr, hStream); });
}
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  FAKE_CALL(cuMemAllocAsync_ptsz, dptr, bytesize, hStream)
  ([&](State& s) { return allocate(s, dptr, bytesize, nullptr, hStream); });
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream) {
  FAKE_CALL(cuMemAllocFromPoolAsync, dptr, bytesize, pool, hStream)
  ([&](State& s) { return allocate(s, dptr, bytesize, pool, hStream); });
}
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                      CUstream hStream) {
  FAKE_CALL(cuMemAllocFromPoolAsync_ptsz, dptr, bytesize, pool, hStream)
  ([&](State& s) { return allocate(s, dptr, bytesize, pool, hStream); });
}
CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  FAKE_CALL(cuMemFreeAsync, dptr, hStream)([&](State& s) { return release(s, dptr, hStream); });
}
CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream) {
  FAKE_CALL(cuMemFreeAsync_ptsz, dptr, hStream)([&](State& s) { return release(s, dptr, hStream); });
}

CUresult cuStreamBeginCapture(CUstream hStream, CUstreamCaptureMode mode) {
  FAKE_CALL(cuStreamBeginCapture_v2, hStream, mode)
  ([&](State& /*s*/) {
    hStream->capture = new CUgraph_st;
    return CUDA_SUCCESS;
  });
}
CUresult cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
  FAKE_CALL(cuStreamEndCapture, hStream, phGraph)
  ([&](State& /*s*/) {
    *phGraph = std::exchange(hStream->capture, nullptr);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphCreate(CUgraph* phGraph, unsigned int flags) {
  FAKE_CALL(cuGraphCreate, phGraph, flags)
  ([&](State& /*s*/) {
    *phGraph = new CUgraph_st;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphAddMemAllocNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) {
  FAKE_CALL(cuGraphAddMemAllocNode, phGraphNode, hGraph, dependencies, count, nodeParams)
  ([&](State& s) {
    nodeParams->dptr = add_node(s, hGraph, nodeParams->bytesize);
    *phGraphNode = reinterpret_cast<CUgraphNode>(nodeParams->dptr);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphAddNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                        const CUgraphEdgeData* dependencyData, size_t count, CUgraphNodeParams* nodeParams) {
  FAKE_CALL(cuGraphAddNode_v2, phGraphNode, hGraph, dependencies, dependencyData, count, nodeParams)
  ([&](State& s) {
    if (nodeParams->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) return CUDA_ERROR_NOT_SUPPORTED;
    nodeParams->alloc.dptr = add_node(s, hGraph, nodeParams->alloc.bytesize);
    *phGraphNode = reinterpret_cast<CUgraphNode>(nodeParams->alloc.dptr);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphAddMemFreeNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                               size_t count, CUdeviceptr dptr) {
  FAKE_CALL(cuGraphAddMemFreeNode, phGraphNode, hGraph, dependencies, count, dptr)
  ([&](State& /*s*/) {
    for (auto& node : hGraph->nodes) {
      if (node.address == dptr) node.freed_in_graph = true;
    }
    *phGraphNode = reinterpret_cast<CUgraphNode>(dptr + 1);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph, unsigned long long flags) {
  FAKE_CALL(cuGraphInstantiateWithFlags, phGraphExec, hGraph, flags)
  ([&](State& /*s*/) {
    *phGraphExec = new CUgraphExec_st{hGraph};
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) {
  FAKE_CALL(cuGraphLaunch, hGraphExec, hStream)([&](State& s) { return launch(s, hGraphExec); });
}
CUresult cuGraphLaunch_ptsz(CUgraphExec hGraphExec, CUstream hStream) {
  FAKE_CALL(cuGraphLaunch_ptsz, hGraphExec, hStream)([&](State& s) { return launch(s, hGraphExec); });
}
CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
  FAKE_CALL(cuGraphExecDestroy, hGraphExec)
  ([&](State& /*s*/) {
    delete hGraphExec;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphDestroy(CUgraph hGraph) {
  FAKE_CALL(cuGraphDestroy, hGraph)
  ([&](State& s) {
    for (const auto& node : hGraph->nodes) {
      // Memory that outlives its graph is freed like any other memory, and its address becomes free too.
      if (!s.memory.contains(node.address)) s.addresses.undo(node.address);
    }
    delete hGraph;
    return CUDA_SUCCESS;
  });
}
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void* value) {
  FAKE_CALL(cuDeviceGetGraphMemAttribute, device, attr, value)
  ([&](State& s) {
    const bool used = attr == CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT;
    *static_cast<cuuint64_t*>(value) = used ? s.graph_used[device] : s.graph_reserved[device];
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
