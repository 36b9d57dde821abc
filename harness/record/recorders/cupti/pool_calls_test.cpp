// Tests of memory pools: on which device their memory is, and when the driver may be queried about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "record/recorders/cupti/tests/fake_cuda_driver.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Line = EventList::Line;

class PoolCallsTest : public testing::Test, protected RecordedProgram {
 protected:
  void create(CUmemoryPool one, CUmemLocationType type, int device = 0) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {type, device};
    driver_.destroyed.erase(one);
    driver_.usage[one] = {.reserved_bytes = 4096, .used_bytes = 100};
    call(recorder_, ID(cuMemPoolCreate), cuMemPoolCreate_params{&one, &properties});
  }
  void destroy(CUmemoryPool one, CUresult result = CUDA_SUCCESS) {
    call(recorder_, ID(cuMemPoolDestroy), cuMemPoolDestroy_params{one}, result, [&] {
      if (result == CUDA_SUCCESS) driver_.destroyed.insert(one);
    });
  }
  [[nodiscard]] std::int64_t samples() const {
    return std::ranges::count(events_.lines, EventType::pool, &Line::type);
  }
  CUmemoryPool pool_ = handle<CUmemoryPool>(0x98);
};

TEST_F(PoolCallsTest, ADestroyedPoolIsNeverPassedToTheDriver) {
  create(pool_, CU_MEM_LOCATION_TYPE_DEVICE);
  allocate_from(pool_, 0x7000, 100);
  destroy(pool_);
  free_async(0x7000);
  EXPECT_EQ(samples(), 1);
  EXPECT_EQ(events_.sums(), (EventList::Sums{100, 0}));
}

TEST_F(PoolCallsTest, AFailedQueryMakesAllUnknown) {
  create(pool_, CU_MEM_LOCATION_TYPE_DEVICE);
  driver_.usage.erase(pool_);
  allocate_from(pool_, 0x7000, 100);
  free_async(0x7000);
  EXPECT_EQ(samples(), 2);
  for (const Line& line : events_.lines) {
    EXPECT_TRUE(line.type != EventType::pool || line.bytes == kUnknownPoolBytes);
  }
  EXPECT_THAT(events_.notes, ElementsAre(HasSubstr("the driver did not report a memory pool")));
}

TEST_F(PoolCallsTest, ARefusedDestructionKeepsThePool) {
  create(pool_, CU_MEM_LOCATION_TYPE_DEVICE);
  allocate_from(pool_, 0x7000, 100);
  destroy(pool_, CUDA_ERROR_INVALID_VALUE);
  free_async(0x7000);
  EXPECT_EQ(samples(), 2);
}

// One thread allocates from the current pool while another destroys it.
TEST_F(PoolCallsTest, APoolDestroyedMeanwhileIsNotQueried) {
  create(pool_, CU_MEM_LOCATION_TYPE_DEVICE);
  driver_.pool = pool_;
  CUdeviceptr address = 0x7000;
  call(recorder_, ID(cuMemAllocAsync), cuMemAllocAsync_params{&address, 100, nullptr}, CUDA_SUCCESS,
       [&] { destroy(pool_); });
  EXPECT_EQ(samples(), 0);
  EXPECT_EQ(events_.sums().live, 100);
}

TEST_F(PoolCallsTest, ADestructionWaitsForTheQueryUnderWay) {
  create(pool_, CU_MEM_LOCATION_TYPE_DEVICE);
  std::atomic<bool> is_destroyed{false};
  std::jthread other;
  driver_.while_asked = [&] {
    driver_.while_asked = nullptr;
    other = std::jthread([&] {
      destroy(pool_);
      is_destroyed = true;
    });
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    EXPECT_FALSE(is_destroyed);
  };
  allocate_from(pool_, 0x7000, 100);
  other.join();
  EXPECT_EQ(samples(), 1);
}

TEST_F(PoolCallsTest, AnAddressUsedAgainIsANewPool) {
  create(pool_, CU_MEM_LOCATION_TYPE_HOST);
  destroy(pool_);
  create(pool_, CU_MEM_LOCATION_TYPE_DEVICE);
  allocate_from(pool_, 0x7000, 100);
  EXPECT_EQ(events_.sums().live, 100);
}

TEST_F(PoolCallsTest, TheDeviceIsThatOfThePool) {
  create(pool_, CU_MEM_LOCATION_TYPE_DEVICE, 3);
  allocate_from(pool_, 0x7000, 100);
  EXPECT_EQ(events_.lines.front().number, 3);
}

TEST_F(PoolCallsTest, HostPoolsAreNotInThePeak) {
  CUmemLocation host{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
  auto* given = handle<CUmemoryPool>(0x97);
  call(recorder_, ID(cuMemGetDefaultMemPool),
       cuMemGetDefaultMemPool_params{&given, &host, CU_MEM_ALLOCATION_TYPE_PINNED});
  allocate_from(given, 0x7000, 10 << 20);
  auto* other = handle<CUmemoryPool>(0x96);
  call(recorder_, ID(cuMemGetMemPool), cuMemGetMemPool_params{&other, &host, CU_MEM_ALLOCATION_TYPE_PINNED});
  allocate_from(other, 0x8000, 10 << 20);
  EXPECT_EQ(events_.sums(), (EventList::Sums{0, 0}));
  ASSERT_EQ(events_.lines.size(), 2U);
  EXPECT_EQ(events_.lines[0].kind, MemoryKind::host_pinned);
}

TEST_F(PoolCallsTest, TheKindOfAnImportedPoolFollowsItsAddresses) {
  auto* imported = handle<CUmemoryPool>(0x95);
  call(recorder_, ID(cuMemPoolImportFromShareableHandle),
       cuMemPoolImportFromShareableHandle_params{&imported, nullptr, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                                 0});
  driver_.on_host.insert(0x7000);
  allocate_from(imported, 0x7000, 10 << 20);
  allocate_from(imported, 0x8000, 1 << 20);
  EXPECT_EQ(events_.sums().live, 1 << 20);
}

TEST_F(PoolCallsTest, TheProgramsQueryOfAPoolDoesNotChangeIt) {
  create(pool_, CU_MEM_LOCATION_TYPE_DEVICE, 3);
  call(recorder_, ID(cuDeviceGetMemPool), cuDeviceGetMemPool_params{&pool_, 5});
  allocate_from(pool_, 0x7000, 100);
  EXPECT_EQ(events_.lines.front().number, 3);
}

TEST_F(PoolCallsTest, TrimmingSamplesThePool) {
  create(pool_, CU_MEM_LOCATION_TYPE_DEVICE);
  call(recorder_, ID(cuMemPoolTrimTo), cuMemPoolTrimTo_params{pool_, 0});
  EXPECT_THAT(events_.lines, ElementsAre(Line{EventType::pool, 0x98, 4096, MemoryKind::none, 100}));
}

TEST_F(PoolCallsTest, ImportedMemoryHasNoBytesAndANote) {
  CUdeviceptr address = 0x7000;
  call(recorder_, ID(cuMemPoolImportPointer), cuMemPoolImportPointer_params{&address, nullptr, nullptr});
  call(recorder_, ID(cuIpcOpenMemHandle_v2), cuIpcOpenMemHandle_v2_params{&address, {}, 0});
  free_async(0x7000);
  EXPECT_THAT(events_.lines, IsEmpty());
  EXPECT_THAT(events_.notes, ElementsAre(HasSubstr("cuMemPoolImportPointer")));
}

}  // namespace
}  // namespace peakmark
