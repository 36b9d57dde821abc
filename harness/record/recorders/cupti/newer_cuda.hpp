#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstddef>

/// Declares, under the names of newer headers, what newer drivers have and the headers of this toolkit lack.
/// So a recorder built with any toolkit from 12.0 on counts the calls of any driver. ci/compare_cupti.py
/// compares the declarations with the headers of each release.

#if CUDA_VERSION < 12000
#error "the recorder needs the headers of CUDA 12.0 or later"
#endif

// NOLINTBEGIN(readability-identifier-naming): NVIDIA's names
#define PEAKMARK_NEWER_CALL(name, id) inline constexpr CUpti_CallbackId CUPTI_DRIVER_TRACE_CBID_##name = id

#if CUDA_VERSION < 12010
PEAKMARK_NEWER_CALL(cuMulticastCreate, 706);
PEAKMARK_NEWER_CALL(cuMulticastBindMem, 708);
PEAKMARK_NEWER_CALL(cuMulticastBindAddr, 709);
PEAKMARK_NEWER_CALL(cuMulticastUnbind, 710);
struct cuMulticastCreate_params {
  CUmemGenericAllocationHandle* mcHandle;
  const void* prop;
};
struct cuMulticastBindMem_params {
  CUmemGenericAllocationHandle mcHandle;
  std::size_t mcOffset;
  CUmemGenericAllocationHandle memHandle;
  std::size_t memOffset;
  std::size_t size;
  unsigned long long flags;
};
struct cuMulticastBindAddr_params {
  CUmemGenericAllocationHandle mcHandle;
  std::size_t mcOffset;
  CUdeviceptr memptr;
  std::size_t size;
  unsigned long long flags;
};
struct cuMulticastUnbind_params {
  CUmemGenericAllocationHandle mcHandle;
  CUdevice dev;
  std::size_t mcOffset;
  std::size_t size;
};
#endif

#if CUDA_VERSION < 12020
PEAKMARK_NEWER_CALL(cuGraphAddNode, 712);
PEAKMARK_NEWER_CALL(cuMemPrefetchAsync_v2, 716);
PEAKMARK_NEWER_CALL(cuMemPrefetchAsync_v2_ptsz, 717);
struct CUgraphNodeParams {
  CUgraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
  };
  long long reserved2;
};
struct cuGraphAddNode_params {
  CUgraphNode* phGraphNode;
  CUgraph hGraph;
  const CUgraphNode* dependencies;
  std::size_t numDependencies;
  CUgraphNodeParams* nodeParams;
};
struct cuMemPrefetchAsync_v2_params {
  CUdeviceptr devPtr;
  std::size_t count;
  CUmemLocation location;
  unsigned int flags;
  CUstream hStream;
};
using cuMemPrefetchAsync_v2_ptsz_params = cuMemPrefetchAsync_v2_params;
inline constexpr auto CUPTI_CB_DOMAIN_STATE = static_cast<CUpti_CallbackDomain>(6);
inline constexpr CUpti_CallbackId CUPTI_CBID_STATE_FATAL_ERROR = 1;
#endif

#if CUDA_VERSION < 12030
PEAKMARK_NEWER_CALL(cuGraphAddNode_v2, 723);
struct cuGraphAddNode_v2_params {
  CUgraphNode* phGraphNode;
  CUgraph hGraph;
  const CUgraphNode* dependencies;
  const void* dependencyData;
  std::size_t numDependencies;
  CUgraphNodeParams* nodeParams;
};
#endif

#if CUDA_VERSION < 12040
PEAKMARK_NEWER_CALL(cuGreenCtxCreate, 743);
PEAKMARK_NEWER_CALL(cuGreenCtxDestroy, 744);
struct cuGreenCtxCreate_params {
  void** phCtx;
  void* desc;
  CUdevice dev;
  unsigned int flags;
};
struct cuGreenCtxDestroy_params {
  void* hCtx;
};
#endif

#if CUDA_VERSION < 12050
PEAKMARK_NEWER_CALL(cuCtxCreate_v4, 757);
struct cuCtxCreate_v4_params {
  CUcontext* pctx;
  void* ctxCreateParams;
  unsigned int flags;
  CUdevice dev;
};
#endif

#if CUDA_VERSION < 12060
using CUpti_ActivityMemory4 = CUpti_ActivityMemory3;
#endif

#if CUDA_VERSION < 12080
PEAKMARK_NEWER_CALL(cuMemcpyBatchAsync, 776);
PEAKMARK_NEWER_CALL(cuMemcpyBatchAsync_ptsz, 777);
PEAKMARK_NEWER_CALL(cuMemcpy3DBatchAsync, 778);
PEAKMARK_NEWER_CALL(cuMemcpy3DBatchAsync_ptsz, 779);
struct cuMemcpyBatchAsync_params {
  CUdeviceptr* dsts;
  CUdeviceptr* srcs;
  std::size_t* sizes;
  std::size_t count;
  void* attrs;
  std::size_t* attrsIdxs;
  std::size_t numAttrs;
  std::size_t* failIdx;
  CUstream hStream;
};
using cuMemcpyBatchAsync_ptsz_params = cuMemcpyBatchAsync_params;
struct cuMemcpy3DBatchAsync_params {
  std::size_t numOps;
  void* opList;
  std::size_t* failIdx;
  unsigned long long flags;
  CUstream hStream;
};
using cuMemcpy3DBatchAsync_ptsz_params = cuMemcpy3DBatchAsync_params;
inline constexpr auto CU_AD_FORMAT_UNORM_INT_101010_2 = static_cast<CUarray_format>(0x50);
using CUpti_ActivityMemcpy6 = CUpti_ActivityMemcpy5;
#endif

#if CUDA_VERSION < 13000
PEAKMARK_NEWER_CALL(cuMemcpyBatchAsync_v2, 796);
PEAKMARK_NEWER_CALL(cuMemcpyBatchAsync_v2_ptsz, 797);
PEAKMARK_NEWER_CALL(cuMemcpy3DBatchAsync_v2, 798);
PEAKMARK_NEWER_CALL(cuMemcpy3DBatchAsync_v2_ptsz, 799);
PEAKMARK_NEWER_CALL(cuMemGetDefaultMemPool, 801);
PEAKMARK_NEWER_CALL(cuMemGetMemPool, 802);
struct cuMemcpyBatchAsync_v2_params {
  CUdeviceptr* dsts;
  CUdeviceptr* srcs;
  std::size_t* sizes;
  std::size_t count;
  void* attrs;
  std::size_t* attrsIdxs;
  std::size_t numAttrs;
  CUstream hStream;
};
using cuMemcpyBatchAsync_v2_ptsz_params = cuMemcpyBatchAsync_v2_params;
struct cuMemcpy3DBatchAsync_v2_params {
  std::size_t numOps;
  void* opList;
  unsigned long long flags;
  CUstream hStream;
};
using cuMemcpy3DBatchAsync_v2_ptsz_params = cuMemcpy3DBatchAsync_v2_params;
struct cuMemGetDefaultMemPool_params {
  CUmemoryPool* pool_out;
  CUmemLocation* location;
  CUmemAllocationType type;
};
struct cuMemGetMemPool_params {
  CUmemoryPool* pool;
  CUmemLocation* location;
  CUmemAllocationType type;
};
inline constexpr auto CU_MEM_ALLOCATION_TYPE_MANAGED = static_cast<CUmemAllocationType>(2);
using CUpti_ActivityKernel10 = CUpti_ActivityKernel9;
#define CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN 64
struct CUpti_SubscriberParams {
  std::size_t structSize;
  const char* subscriberName;
  char* oldSubscriberName;
  std::size_t oldSubscriberSize;
};
inline constexpr std::size_t CUpti_SubscriberParams_STRUCT_SIZE = sizeof(CUpti_SubscriberParams);
extern "C" CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                         void* userdata, CUpti_SubscriberParams* pParams);
#endif

#undef PEAKMARK_NEWER_CALL
// NOLINTEND(readability-identifier-naming)
