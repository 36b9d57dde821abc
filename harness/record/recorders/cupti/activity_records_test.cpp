// Tests with activity records in CUPTI's layout, in buffers that a fake library walks through.
#include "record/recorders/cupti/activity_records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <thread>

#include "record/recorders/cupti/tests/fake_cuda_driver.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Line = EventList::Line;

// Sizes of records in CUPTI 13.0; other headers would change them.
static_assert(sizeof(CUpti_ActivityMemory4) == 128);
static_assert(sizeof(CUpti_ActivityKernel10) == 216);
static_assert(sizeof(CUpti_ActivityMemcpy6) == 96);
static_assert(sizeof(CUpti_ActivityMemset4) == 88);

std::size_t size_of_record(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    default:
      return 8;
  }
}

CUptiResult next_record(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record) {
  std::uint8_t* at =
      *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + size_of_record(**record);
  if (at >= buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}

std::uint32_t fake_version = CUPTI_API_VERSION;
CUpti_BuffersCallbackRequestFunc request_buffer = nullptr;
CUpti_BuffersCallbackCompleteFunc complete_buffer = nullptr;
std::size_t fake_dropped = 0;

CuptiLibrary fake_library() {
  CuptiLibrary library;
  library.get_version = [](std::uint32_t* version) {
    *version = fake_version;
    return CUPTI_SUCCESS;
  };
  library.register_buffers = [](CUpti_BuffersCallbackRequestFunc request,
                                CUpti_BuffersCallbackCompleteFunc complete) {
    request_buffer = request;
    complete_buffer = complete;
    return CUPTI_SUCCESS;
  };
  library.register_clock = [](CUpti_TimestampCallbackFunc) { return CUPTI_SUCCESS; };
  library.set_attribute = [](CUpti_ActivityAttribute, std::size_t*, void*) {
    return CUPTI_ERROR_NOT_SUPPORTED;
  };
  library.enable_activity = [](CUpti_ActivityKind kind) {
    return kind == CUPTI_ACTIVITY_KIND_MEMORY2 ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES : CUPTI_SUCCESS;
  };
  library.disable_activity = [](CUpti_ActivityKind) { return CUPTI_SUCCESS; };
  library.flush_all = [](std::uint32_t) { return CUPTI_SUCCESS; };
  library.next_record = next_record;
  library.dropped_records = [](CUcontext, std::uint32_t, std::size_t* dropped) {
    *dropped = fake_dropped;
    return CUPTI_SUCCESS;
  };
  return library;
}

class Buffer {
 public:
  void kernel(const char* name, std::uint64_t start, std::uint64_t end) {
    CUpti_ActivityKernel10 record{};
    record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    record.name = name;
    record.start = start;
    record.end = end;
    append(&record, sizeof(record));
  }
  void copy(CUpti_ActivityMemcpyKind kind, std::uint64_t start, std::uint64_t end) {
    CUpti_ActivityMemcpy6 record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    record.copyKind = kind;
    record.start = start;
    record.end = end;
    append(&record, sizeof(record));
  }
  void fill(std::uint64_t start, std::uint64_t end) {
    CUpti_ActivityMemset4 record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    record.start = start;
    record.end = end;
    append(&record, sizeof(record));
  }
  void memory(CUpti_ActivityMemoryOperationType operation, CUpti_ActivityMemoryKind kind,
              std::uint64_t address, std::uint64_t bytes, std::uint64_t time,
              CUpti_ActivityMemoryPoolType pool = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID) {
    CUpti_ActivityMemory4 record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
    record.memoryOperationType = operation;
    record.memoryKind = kind;
    record.address = address;
    record.bytes = bytes;
    record.timestamp = time;
    record.memoryPoolConfig.memoryPoolType = pool;
    append(&record, sizeof(record));
  }
  void other() {
    const std::uint64_t record = CUPTI_ACTIVITY_KIND_OVERHEAD;
    append(&record, sizeof(record));
  }
  /// Requests a buffer from the recorder and returns it filled, as CUPTI's thread does.
  void deliver() const {
    std::uint8_t* buffer = nullptr;
    std::size_t bytes = 0;
    std::size_t most = 1;
    request_buffer(&buffer, &bytes, &most);
    ASSERT_GE(bytes, bytes_.size());
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 8, 0U);
    EXPECT_EQ(most, 0U);
    std::ranges::copy(bytes_, buffer);
    complete_buffer(nullptr, 0, buffer, bytes, bytes_.size());
  }

 private:
  void append(const void* record, std::size_t bytes) {
    const auto* from = static_cast<const std::uint8_t*>(record);
    bytes_.insert(bytes_.end(), from, from + bytes);
  }
  std::vector<std::uint8_t> bytes_;
};

class ActivityTest : public testing::Test {
 protected:
  void SetUp() override {
    fake_version = CUPTI_API_VERSION;
    fake_dropped = 0;
  }
  bool open() {
    return activity_.open(
        library_,
        [this](const CUpti_Activity& record) {
          kernels_.add(record);
          memory_.add(record);
        },
        reason_);
  }
  CuptiLibrary library_ = fake_library();
  Activity activity_;
  KernelTimes kernels_;
  MemoryRecords memory_;
  std::string reason_;
};

TEST_F(ActivityTest, KernelsAreSummedByNameTheLongestFirst) {
  ASSERT_TRUE(open()) << reason_;
  Buffer buffer;
  buffer.kernel("pad", 100, 150);
  buffer.other();
  buffer.kernel("_ZN3foo3barEi", 1000, 1400);
  buffer.kernel("pad", 200, 260);
  buffer.deliver();
  Buffer().deliver();
  const auto totals = kernels_.totals();
  ASSERT_EQ(totals.size(), 2U);
  EXPECT_EQ(totals[0].name, "foo::bar(int)");
  EXPECT_EQ(totals[0].count, 1U);
  EXPECT_EQ(totals[0].ns, 400U);
  EXPECT_EQ(totals[1].name, "pad");
  EXPECT_EQ(totals[1].count, 2U);
  EXPECT_EQ(totals[1].ns, 110U);
  kernels_.clear();
  EXPECT_TRUE(kernels_.totals().empty());
}

TEST(DeviceWork, IsThatOfKernelsCopiesAndFills) {
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = 100;
  kernel.end = 150;
  auto work = device_work(reinterpret_cast<const CUpti_Activity&>(kernel));
  ASSERT_TRUE(work);
  EXPECT_EQ(work->start, 100U);
  EXPECT_EQ(work->end, 150U);
  CUpti_ActivityMemset4 fill{};
  fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  fill.start = 7;
  fill.end = 9;
  EXPECT_EQ(device_work(reinterpret_cast<const CUpti_Activity&>(fill))->end, 9U);
  CUpti_ActivityMemory4 memory{};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  EXPECT_FALSE(device_work(reinterpret_cast<const CUpti_Activity&>(memory)));
}

TEST_F(ActivityTest, CopiesAndFillsAreListedWithTheKernels) {
  ASSERT_TRUE(open()) << reason_;
  Buffer buffer;
  buffer.copy(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, 10, 80);
  buffer.kernel("pad", 100, 150);
  buffer.fill(200, 230);
  buffer.copy(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, 300, 310);
  buffer.copy(CUPTI_ACTIVITY_MEMCPY_KIND_ATOA, 400, 401);
  buffer.deliver();
  const auto totals = kernels_.totals();
  ASSERT_EQ(totals.size(), 4U);
  EXPECT_EQ(totals[0].name, "[memcpy device to device]");
  EXPECT_EQ(totals[0].count, 2U);
  EXPECT_EQ(totals[0].ns, 80U);
  EXPECT_EQ(totals[1].name, "pad");
  EXPECT_EQ(totals[2].name, "[memset]");
  EXPECT_EQ(totals[2].ns, 30U);
  EXPECT_EQ(totals[3].name, "[memcpy]");
}

TEST_F(ActivityTest, MemoryIsWrittenInTheOrderOfTime) {
  ASSERT_TRUE(open()) << reason_;
  const auto allocated = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  const auto released = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  Buffer late;
  late.memory(released, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 0x7000, 100, 30);
  late.memory(allocated, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 0x8000, 5, 40,
              CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
  late.deliver();
  Buffer early;
  early.memory(allocated, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 0x7000, 100, 10);
  early.memory(allocated, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, 0x9000, 7, 20);
  early.memory(allocated, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC, 0xa000, 9, 25);
  early.deliver();
  EventList events;
  memory_.write(events, 0);
  EXPECT_THAT(events.lines, ElementsAre(Line{EventType::allocation, 0x7000, 100, MemoryKind::device},
                                        Line{EventType::allocation, 0x9000, 7, MemoryKind::host_pinned},
                                        Line{EventType::release, 0x7000},
                                        Line{EventType::allocation, 0x8000, 5, MemoryKind::pool_async}));
  EXPECT_THAT(events.notes, ElementsAre(HasSubstr("1 records of static variables")));
}

TEST_F(ActivityTest, DroppedRecordsAreCountedAndMakeTheAccountInvalid) {
  ASSERT_TRUE(open()) << reason_;
  fake_dropped = 3;
  Buffer buffer;
  buffer.kernel("pad", 1, 2);
  buffer.deliver();
  EXPECT_EQ(activity_.dropped(), 3U);
  EventList events;
  memory_.write(events, activity_.dropped());
  EXPECT_THAT(events.notes, ElementsAre(HasSubstr("invalid: CUPTI dropped 3")));
  activity_.forget_dropped();
  EXPECT_EQ(activity_.dropped(), 0U);
}

// The fields that are read have had these offsets since 12.0; see has_known_records.
static_assert(offsetof(CUpti_ActivityKernel10, start) == 16 && offsetof(CUpti_ActivityKernel10, end) == 24);
static_assert(offsetof(CUpti_ActivityKernel10, name) == 104);
static_assert(offsetof(CUpti_ActivityMemcpy6, copyKind) == 4);
static_assert(offsetof(CUpti_ActivityMemcpy6, start) == 16 && offsetof(CUpti_ActivityMemcpy6, end) == 24);
static_assert(offsetof(CUpti_ActivityMemory4, memoryKind) == 8 &&
              offsetof(CUpti_ActivityMemory4, bytes) == 24);
static_assert(offsetof(CUpti_ActivityMemory4, memoryPoolConfig.address) == 88);
static_assert(offsetof(CUpti_ActivityMemset4, start) == 16 && offsetof(CUpti_ActivityMemset4, end) == 24);

TEST_F(ActivityTest, ReleasesOfCuptiWhoseRecordsAreKnownAreRead) {
  for (const std::uint32_t version : {18U, 28U, 130'001U, 130'100U, 130'500U}) {
    fake_version = version;
    EXPECT_TRUE(open()) << version << reason_;
  }
}

TEST_F(ActivityTest, AnUnknownReleaseOfCuptiIsRefused) {
  for (const std::uint32_t version : {17U, 29U, 130'600U, 140'000U}) {
    fake_version = version;
    EXPECT_FALSE(open());
    EXPECT_THAT(reason_, HasSubstr(std::to_string(version)));
  }
}

TEST_F(ActivityTest, RecordsWithoutTimesAreMissing) {
  ASSERT_TRUE(open()) << reason_;
  Buffer buffer;
  buffer.kernel("pad", 0, 0);
  buffer.kernel("pad", 100, 150);
  buffer.kernel("pad", 100, 50);
  buffer.deliver();
  ASSERT_EQ(kernels_.totals().size(), 1U);
  EXPECT_EQ(kernels_.totals()[0].count, 1U);
  EXPECT_EQ(kernels_.untimed(), 2U);
  kernels_.clear();
  EXPECT_EQ(kernels_.untimed(), 0U);
}

TEST_F(ActivityTest, TotalsAreReadBetweenRecords) {
  ASSERT_TRUE(open()) << reason_;
  std::jthread cupti([] {
    for (int i = 0; i < 20; ++i) {
      Buffer buffer;
      buffer.kernel("pad", 1, 2);
      buffer.deliver();
    }
  });
  std::uint64_t seen = 0;
  while (seen < 20) {
    std::this_thread::yield();
    activity_.between_records([&] {
      for (const KernelTotal& total : kernels_.totals()) seen = total.count;
    });
  }
}

TEST_F(ActivityTest, ALibraryWithoutTheFunctionsIsRefused) {
  library_.dropped_records = nullptr;
  EXPECT_FALSE(open());
  EXPECT_THAT(reason_, HasSubstr("lacks"));
}

TEST_F(ActivityTest, MissingPrivilegesSayHowToGetThem) {
  ASSERT_TRUE(open()) << reason_;
  EXPECT_TRUE(activity_.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, reason_));
  EXPECT_FALSE(activity_.enable(CUPTI_ACTIVITY_KIND_MEMORY2, reason_));
  EXPECT_THAT(reason_, HasSubstr("NVreg_RestrictProfilingToAdminUsers"));
}

}  // namespace
}  // namespace peakmark
