#include "record/recorders/cupti/call_recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "record/recorders/cupti/tests/fake_cuda_driver.hpp"
#include "record/recorders/exports.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Line = EventList::Line;

class CallRecorderTest : public testing::Test, protected RecordedProgram {};

TEST_F(CallRecorderTest, DeviceMemory) {
  CUdeviceptr address = 0x7000;
  call(
      recorder_, ID(cuMemAlloc_v2), cuMemAlloc_v2_params{&address, 1000}, CUDA_SUCCESS, [] {}, 3);
  free(address);
  EXPECT_THAT(events_.lines, ElementsAre(Line{EventType::allocation, 0x7000, 1000, MemoryKind::device, 30},
                                         Line{EventType::release, 0x7000}));
}

TEST_F(CallRecorderTest, GuardsAreNotCounted) {
  CUdeviceptr address = 0x7000;
  guard_bytes = 8192;
  call(recorder_, ID(cuMemAlloc_v2), cuMemAlloc_v2_params{&address, 8192 + 1000});
  call(recorder_, ID(cuMemAlloc_v2), cuMemAlloc_v2_params{&address, 8192 + 2000}, CUDA_ERROR_OUT_OF_MEMORY);
  guard_bytes = 0;
  free(address);
  EXPECT_THAT(events_.lines, ElementsAre(Line{EventType::allocation, 0x7000, 1000, MemoryKind::device},
                                         Line{EventType::failed_allocation, 0, 2000, MemoryKind::device, 2},
                                         Line{EventType::release, 0x7000}));
}

TEST_F(CallRecorderTest, PitchedMemoryCountsTheDriversPitch) {
  CUdeviceptr address = 0x7000;
  std::size_t pitch = 512;
  call(recorder_, ID(cuMemAllocPitch_v2), cuMemAllocPitch_v2_params{&address, &pitch, 100, 7, 4});
  EXPECT_THAT(events_.lines, ElementsAre(Line{EventType::allocation, 0x7000, 512 * 7, MemoryKind::pitched}));
}

TEST_F(CallRecorderTest, ManagedPinnedAndRegisteredMemory) {
  CUdeviceptr managed = 0x1000;
  void* pinned = handle<void*>(0x2000);
  void* older = handle<void*>(0x3000);
  call(recorder_, ID(cuMemAllocManaged), cuMemAllocManaged_params{&managed, 10, 1});
  call(recorder_, ID(cuMemHostAlloc), cuMemHostAlloc_params{&pinned, 20, 0});
  call(recorder_, ID(cuMemAllocHost_v2), cuMemAllocHost_v2_params{&older, 30});
  call(recorder_, ID(cuMemHostRegister_v2), cuMemHostRegister_v2_params{handle<void*>(0x4000), 40, 0});
  call(recorder_, ID(cuMemHostUnregister), cuMemHostUnregister_params{handle<void*>(0x4000)});
  call(recorder_, ID(cuMemFreeHost), cuMemFreeHost_params{older});
  EXPECT_THAT(events_.lines, ElementsAre(Line{EventType::allocation, 0x1000, 10, MemoryKind::managed},
                                         Line{EventType::allocation, 0x2000, 20, MemoryKind::host_pinned},
                                         Line{EventType::allocation, 0x3000, 30, MemoryKind::host_pinned},
                                         Line{EventType::allocation, 0x4000, 40, MemoryKind::host_registered},
                                         Line{EventType::release, 0x4000}, Line{EventType::release, 0x3000}));
}

TEST_F(CallRecorderTest, HostMemoryIsMappedOrWriteCombinedByItsFlags) {
  void* memory = reinterpret_cast<void*>(0x3000);
  const auto allocate = [&](unsigned int flags) {
    call(recorder_, ID(cuMemHostAlloc), cuMemHostAlloc_params{&memory, 20, flags});
    return events_.lines.back().kind;
  };
  EXPECT_EQ(allocate(0), MemoryKind::host_pinned);
  EXPECT_EQ(allocate(CU_MEMHOSTALLOC_PORTABLE), MemoryKind::host_pinned);
  EXPECT_EQ(allocate(CU_MEMHOSTALLOC_DEVICEMAP), MemoryKind::host_mapped);
  EXPECT_EQ(allocate(CU_MEMHOSTALLOC_WRITECOMBINED), MemoryKind::host_write_combined);
  EXPECT_EQ(allocate(CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_DEVICEMAP),
            MemoryKind::host_write_combined);
}

TEST_F(CallRecorderTest, Arrays) {
  auto array = handle<CUarray>(0x10);
  auto volume = handle<CUarray>(0x20);
  auto mipmapped = handle<CUmipmappedArray>(0x30);
  const CUDA_ARRAY_DESCRIPTOR flat{64, 32, CU_AD_FORMAT_FLOAT, 1};
  CUDA_ARRAY3D_DESCRIPTOR deep{};
  deep.Width = 8;
  deep.Height = 4;
  deep.Depth = 2;
  deep.Format = CU_AD_FORMAT_UNSIGNED_INT16;
  deep.NumChannels = 2;
  call(recorder_, ID(cuArrayCreate_v2), cuArrayCreate_v2_params{&array, &flat});
  call(recorder_, ID(cuArray3DCreate_v2), cuArray3DCreate_v2_params{&volume, &deep});
  call(recorder_, ID(cuMipmappedArrayCreate), cuMipmappedArrayCreate_params{&mipmapped, &deep, 2});
  call(recorder_, ID(cuArrayDestroy), cuArrayDestroy_params{array});
  call(recorder_, ID(cuMipmappedArrayDestroy), cuMipmappedArrayDestroy_params{mipmapped});
  EXPECT_THAT(events_.lines,
              ElementsAre(Line{EventType::allocation, 0x10, 64 * 32 * 4, MemoryKind::array},
                          Line{EventType::allocation, 0x20, 8 * 4 * 2 * 4, MemoryKind::array},
                          Line{EventType::allocation, 0x30, (8 * 4 * 2 + 4 * 2 * 1) * 4, MemoryKind::array},
                          Line{EventType::release, 0x10}, Line{EventType::release, 0x30}));
}

TEST_F(CallRecorderTest, PoolsAreSampledAtEachAllocationAndRelease) {
  driver_.pool = handle<CUmemoryPool>(0x99);
  driver_.usage[driver_.pool] = {.reserved_bytes = 4096, .used_bytes = 100};
  CUdeviceptr address = 0x7000;
  call(recorder_, ID(cuMemAllocAsync), cuMemAllocAsync_params{&address, 100, nullptr});
  driver_.usage[driver_.pool] = {.reserved_bytes = 4096, .used_bytes = 0};
  call(recorder_, ID(cuMemFreeAsync_ptsz), cuMemFreeAsync_ptsz_params{address, nullptr});
  EXPECT_THAT(events_.lines, ElementsAre(Line{EventType::allocation, 0x7000, 100, MemoryKind::pool_async},
                                         Line{EventType::pool, 0x99, 4096, MemoryKind::none, 100},
                                         Line{EventType::release, 0x7000},
                                         Line{EventType::pool, 0x99, 4096, MemoryKind::none, 0}));
}

TEST_F(CallRecorderTest, APoolWithoutUsageGivesNoSample) {
  auto pool = handle<CUmemoryPool>(0x98);
  CUdeviceptr address = 0x7000;
  call(recorder_, ID(cuMemAllocFromPoolAsync), cuMemAllocFromPoolAsync_params{&address, 100, pool, nullptr});
  EXPECT_THAT(events_.lines, ElementsAre(Line{EventType::allocation, 0x7000, 100, MemoryKind::pool_async}));
}

TEST_F(CallRecorderTest, APoolOfHostMemoryIsNotInThePeak) {
  auto pool = handle<CUmemoryPool>(0x98);
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST;
  call(recorder_, ID(cuMemPoolCreate), cuMemPoolCreate_params{&pool, &properties});
  CUdeviceptr address = 0x7000;
  call(recorder_, ID(cuMemAllocFromPoolAsync_ptsz),
       cuMemAllocFromPoolAsync_ptsz_params{&address, 100, pool, nullptr});
  EXPECT_THAT(events_.lines, ElementsAre(Line{EventType::allocation, 0x7000, 100, MemoryKind::host_pinned}));
}

TEST_F(CallRecorderTest, FailuresKeepTheBytesAndTheCode) {
  CUdeviceptr untouched = 0x1234;
  std::size_t pitch = 0xffff;
  call(recorder_, ID(cuMemAlloc_v2), cuMemAlloc_v2_params{&untouched, 1 << 20}, CUDA_ERROR_OUT_OF_MEMORY);
  call(recorder_, ID(cuMemAllocPitch_v2), cuMemAllocPitch_v2_params{&untouched, &pitch, 100, 7, 4},
       CUDA_ERROR_OUT_OF_MEMORY);
  call(recorder_, ID(cuMemAlloc_v2), cuMemAlloc_v2_params{&untouched, SIZE_MAX}, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(events_.lines,
              ElementsAre(Line{EventType::failed_allocation, 0, 1 << 20, MemoryKind::device, 2},
                          Line{EventType::failed_allocation, 0, 700, MemoryKind::pitched, 2},
                          Line{EventType::failed_allocation, 0, INT64_MAX, MemoryKind::device, 2}));
}

TEST_F(CallRecorderTest, AReleaseIsWrittenBeforeTheAddressCanBeReused) {
  allocate(0x7000, 10);
  call(recorder_, ID(cuMemFree_v2), cuMemFree_v2_params{0x7000}, CUDA_SUCCESS,
       [&] { allocate(0x7000, 20); });  // another thread, before the call returns
  free(0x7000);
  EXPECT_THAT(events_.lines, ElementsAre(Line{EventType::allocation, 0x7000, 10, MemoryKind::device},
                                         Line{EventType::release, 0x7000},
                                         Line{EventType::allocation, 0x7000, 20, MemoryKind::device},
                                         Line{EventType::release, 0x7000}));
}

TEST_F(CallRecorderTest, ARefusedReleaseIsUndone) {
  allocate(0x7000, 10);
  free(0x7000, CUDA_ERROR_ILLEGAL_ADDRESS);
  free(0x7000);
  EXPECT_THAT(events_.lines, ElementsAre(Line{EventType::allocation, 0x7000, 10, MemoryKind::device},
                                         Line{EventType::release, 0x7000},
                                         Line{EventType::allocation, 0x7000, 10, MemoryKind::device, 0, 700},
                                         Line{EventType::release, 0x7000}));
  EXPECT_THAT(events_.notes, ElementsAre(HasSubstr("code 700")));
}

TEST_F(CallRecorderTest, ARefusedReleaseOfNothingIsNoRelease) {
  free(0x7000, CUDA_ERROR_INVALID_VALUE);
  free(0, CUDA_SUCCESS);
  EXPECT_THAT(events_.lines, IsEmpty());
}

TEST_F(CallRecorderTest, AReleaseAfterTheDriverHasEndedCounts) {
  allocate(0x7000, 10);
  free(0x7000, CUDA_ERROR_DEINITIALIZED);
  EXPECT_THAT(events_.lines, ElementsAre(Line{EventType::allocation, 0x7000, 10, MemoryKind::device},
                                         Line{EventType::release, 0x7000}));
}

TEST_F(CallRecorderTest, EarlierAllocationsAreUnmatchedReleases) {
  free(0x7000);
  EXPECT_THAT(events_.lines, ElementsAre(Line{EventType::release, 0x7000}));
}

TEST_F(CallRecorderTest, AllocationsInGraphsAreNoted) {
  auto* const stream = handle<CUstream>(0x55);
  driver_.capturing.insert(stream);
  driver_.graphs = CudaDriver::PoolUsage{.reserved_bytes = 2 << 20, .used_bytes = 4096};
  CUdeviceptr captured = 0x7000;
  call(recorder_, ID(cuMemAllocAsync), cuMemAllocAsync_params{&captured, 4096, stream});
  CUDA_MEM_ALLOC_NODE_PARAMS node{};
  node.bytesize = 100;
  node.dptr = 0x8000;
  call(recorder_, ID(cuGraphAddMemAllocNode),
       cuGraphAddMemAllocNode_params{nullptr, nullptr, nullptr, 0, &node});
  CUgraphNodeParams general{};
  general.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  general.alloc.bytesize = 200;
  general.alloc.dptr = 0x9000;
  call(recorder_, ID(cuGraphAddNode_v2),
       cuGraphAddNode_v2_params{nullptr, nullptr, nullptr, nullptr, 0, &general});
  EXPECT_THAT(events_.lines, IsEmpty());
  EXPECT_THAT(events_.notes,
              ElementsAre(HasSubstr("4096 bytes"), HasSubstr("100 bytes"), HasSubstr("200 bytes")));

  call(recorder_, ID(cuGraphLaunch), cuGraphLaunch_params{nullptr, stream});
  ASSERT_EQ(events_.lines.size(), 1U);
  EXPECT_EQ(events_.lines[0].type, EventType::pool);
  EXPECT_EQ(events_.lines[0].bytes, 2 << 20);
  EXPECT_EQ(events_.lines[0].number, 4096);
  free(0x8000);  // memory of a graph may be freed outside of it; the release has no allocation
  EXPECT_EQ(events_.lines.size(), 1U);
}

TEST_F(CallRecorderTest, SyncWaitsForTheStreamOfEachEnqueue) {
  CallRecorder waiting{events_, driver_, true};
  auto* const stream = handle<CUstream>(0x55);
  auto* const capturing = handle<CUstream>(0x66);
  driver_.capturing.insert(capturing);
  cuLaunchKernel_params launch{};
  launch.hStream = stream;
  call(waiting, ID(cuLaunchKernel), launch);
  launch.hStream = nullptr;
  call(waiting, ID(cuLaunchKernel_ptsz), launch);
  launch.hStream = capturing;
  call(waiting, ID(cuLaunchKernel), launch);
  launch.hStream = stream;
  call(waiting, ID(cuLaunchKernel), launch, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  CUlaunchConfig config{};
  config.hStream = stream;
  call(waiting, ID(cuLaunchKernelEx), cuLaunchKernelEx_params{&config, nullptr, nullptr, nullptr});
  CUgraphNodeParams node{};
  call(waiting, ID(cuGraphAddNode_v2),
       cuGraphAddNode_v2_params{nullptr, nullptr, nullptr, nullptr, 0, &node});
  EXPECT_THAT(driver_.synchronised, ElementsAre(stream, CU_STREAM_PER_THREAD, stream));
}

TEST_F(CallRecorderTest, SyncWaitsForFillsAndEveryKindOfCopy) {
  CallRecorder waiting{events_, driver_, true};
  auto* const stream = handle<CUstream>(0x55);
  cuMemsetD8Async_params fill{};
  fill.hStream = stream;
  call(waiting, ID(cuMemsetD8Async), fill);
  cuMemcpy2DAsync_v2_params flat{};
  flat.hStream = stream;
  call(waiting, ID(cuMemcpy2DAsync_v2), flat);
  cuMemcpy3DAsync_v2_params deep{};
  deep.hStream = stream;
  call(waiting, ID(cuMemcpy3DAsync_v2), deep);
  cuMemcpyPeerAsync_params peer{};
  peer.hStream = stream;
  call(waiting, ID(cuMemcpyPeerAsync), peer);
  cuMemcpyBatchAsync_v2_params batch{};
  batch.hStream = stream;
  call(waiting, ID(cuMemcpyBatchAsync_v2), batch);
  EXPECT_THAT(driver_.synchronised, ElementsAre(stream, stream, stream, stream, stream));
  driver_.synchronised.clear();
  call(waiting, ID(cuMemsetD32_v2), cuMemsetD32_v2_params{});
  call(waiting, ID(cuMemcpyDtoD_v2_ptds), cuMemcpyDtoD_v2_params{});
  EXPECT_THAT(driver_.synchronised, ElementsAre(nullptr, CU_STREAM_PER_THREAD));
}

// A collective operation over two devices: the first kernel waits for the second, which this thread has not
// launched yet.
TEST_F(CallRecorderTest, SyncGivesUpOnAStreamThatIsNotIdleInTime) {
  CallRecorder waiting{events_, driver_, true};
  auto* const stuck = handle<CUstream>(0x55);
  driver_.busy.insert(stuck);
  cuLaunchKernel_params launch{};
  launch.hStream = stuck;
  call(waiting, ID(cuLaunchKernel), launch);
  launch.hStream = handle<CUstream>(0x66);
  call(waiting, ID(cuLaunchKernel), launch);
  EXPECT_THAT(driver_.synchronised, ElementsAre(stuck));
  EXPECT_THAT(events_.notes, ElementsAre(HasSubstr("--sync: a stream was not idle in time")));
}

TEST_F(CallRecorderTest, WithoutSyncNothingWaits) {
  cuLaunchKernel_params launch{};
  call(recorder_, ID(cuLaunchKernel), launch);
  EXPECT_THAT(driver_.synchronised, IsEmpty());
}

// Threads reuse each other's addresses, and the driver returns a freed address at once. In any order of the
// threads, an address must never be allocated twice without a release between.
TEST_F(CallRecorderTest, ThreadsKeepEachAddressInOrder) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 500;
  std::mutex driver;
  std::vector<CUdeviceptr> unused{0x1000, 0x2000, 0x3000};
  const auto work = [&] {
    for (int i = 0; i < kRounds; ++i) {
      CUdeviceptr address = 0;
      {
        const std::scoped_lock lock(driver);
        if (unused.empty()) continue;
        address = unused.back();
        unused.pop_back();
      }
      allocate(address, 8);
      call(recorder_, ID(cuMemFree_v2), cuMemFree_v2_params{address}, CUDA_SUCCESS, [&] {
        const std::scoped_lock lock(driver);
        unused.push_back(address);
      });
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  threads.clear();
  std::set<std::uint64_t> live;
  for (const Line& line : events_.lines) {
    if (line.type == EventType::allocation) {
      EXPECT_TRUE(live.insert(line.address).second) << line.address;
    } else {
      EXPECT_EQ(live.erase(line.address), 1U) << line.address;
    }
  }
  EXPECT_THAT(live, IsEmpty());
  EXPECT_GT(events_.lines.size(), 2U * kRounds);
}

}  // namespace
}  // namespace peakmark
