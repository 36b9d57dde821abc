#include "record/ledger/compare_accounts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/profile/event_testing.hpp"

namespace peakmark {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::allocation;
using testing_support::release;

TEST(CompareAccounts, KindsThatRecordsCannotDistinguishAgree) {
  const std::vector<Event> callbacks{allocation(1, 10, MemoryKind::pitched), release(1),
                                     allocation(2, 20, MemoryKind::host_registered)};
  const std::vector<Event> records{allocation(1, 10, MemoryKind::device), release(1),
                                   allocation(2, 20, MemoryKind::host_pinned)};
  EXPECT_THAT(compare_accounts(callbacks, records), IsEmpty());
}

TEST(CompareAccounts, OneByteOffIsReported) {
  const std::vector<Event> callbacks{allocation(1, 10, MemoryKind::device)};
  const std::vector<Event> records{allocation(1, 11, MemoryKind::device)};
  const auto differences = compare_accounts(callbacks, records);
  EXPECT_THAT(differences, Contains(HasSubstr("peak bytes: callbacks 10, records 11")));
  EXPECT_THAT(differences, Contains(HasSubstr("only in the records: 11 bytes of device")));
}

TEST(CompareAccounts, ALostReleaseIsReported) {
  const std::vector<Event> callbacks{allocation(1, 10, MemoryKind::device), release(1)};
  const std::vector<Event> records{allocation(1, 10, MemoryKind::device)};
  EXPECT_THAT(compare_accounts(callbacks, records),
              testing::ElementsAre("bytes live at the end: callbacks 0, records 10"));
}

TEST(CompareAccounts, AnAllocationMadeTwiceIsNoneMadeOnce) {
  const std::vector<Event> callbacks{allocation(1, 10, MemoryKind::managed), release(1),
                                     allocation(1, 10, MemoryKind::managed), release(1)};
  const std::vector<Event> records{allocation(1, 10, MemoryKind::managed), release(1)};
  EXPECT_THAT(compare_accounts(callbacks, records),
              Contains(HasSubstr("1 times only in the callbacks: 10 bytes of managed")));
}

}  // namespace
}  // namespace peakmark
