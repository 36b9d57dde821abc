#include "measure/worker/pass_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/device/dry/dry_device.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::Field;

std::uint64_t allocate(AllocationLog& allocation_log, Size bytes, std::string_view name) {
  const std::uint64_t address = allocation_log.allocate(bytes);
  allocation_log.name(address, name);
  return address;
}

TEST(PassRecord, DistinguishesSetupInputsAndOutputs) {
  AllocationLog allocation_log(MemoryKind::buffer, std::nullopt);
  allocation_log.phase("setup");
  allocate(allocation_log, 5, "plan");
  const auto scratch = allocate(allocation_log, 100, "made and dropped in setup");
  allocation_log.release(scratch, 100);
  allocation_log.phase("inputs");
  allocate(allocation_log, 70, "input");
  allocation_log.phase("outputs");
  allocate(allocation_log, 300, "output");
  allocation_log.phase("call 1");
  allocation_log.phase("call 2");
  allocation_log.phase("verify");
  allocation_log.phase("end");
  const MemoryPass record = record_of_pass(allocation_log.events(0));
  EXPECT_EQ(record.peak_bytes, 375);
  EXPECT_EQ(record.setup_bytes, 5);
  EXPECT_EQ(record.input_bytes, 70);
  EXPECT_EQ(record.output_bytes, 300);
  EXPECT_EQ(record.allocations, 4);
  EXPECT_THAT(record.at_peak,
              ElementsAre(Field(&Allocation::name, "output"), Field(&Allocation::name, "input"),
                          Field(&Allocation::name, "plan")));
  EXPECT_EQ(record.by_kind.at(MemoryKind::buffer).peak_bytes, 375);
}

TEST(PassRecord, InputsThatReleaseWhatSetUpMadeAddLessThanNothing) {
  AllocationLog allocation_log(MemoryKind::buffer, std::nullopt);
  allocation_log.phase("setup");
  const auto staging = allocate(allocation_log, 100, "staging");
  allocation_log.phase("inputs");
  allocate(allocation_log, 70, "input");
  allocation_log.release(staging, 100);
  allocation_log.phase("outputs");
  allocation_log.phase("call 1");
  allocation_log.phase("call 2");
  allocation_log.phase("verify");
  const MemoryPass record = record_of_pass(allocation_log.events(0));
  EXPECT_EQ(record.setup_bytes, 100);
  EXPECT_EQ(record.input_bytes, -30);
}

TEST(PassRecord, ASecondCallThatNeedsMoreIsThePeak) {
  AllocationLog allocation_log(MemoryKind::buffer, std::nullopt);
  allocation_log.phase("setup");
  allocation_log.phase("inputs");
  allocation_log.allocate(10);
  allocation_log.phase("outputs");
  allocation_log.phase("call 1");
  allocation_log.release(allocation_log.allocate(20), 20);
  allocation_log.phase("call 2");
  allocation_log.release(allocation_log.allocate(32), 32);
  allocation_log.phase("verify");
  const MemoryPass record = record_of_pass(allocation_log.events(0));
  EXPECT_EQ(record.first_call_peak_bytes, 30);
  EXPECT_EQ(record.peak_bytes, 42);
}

TEST(PassRecord, VerificationLiesOutsideThePeak) {
  AllocationLog allocation_log(MemoryKind::buffer, std::nullopt);
  allocation_log.phase("setup");
  allocation_log.allocate(10);
  allocation_log.phase("call 1");
  allocation_log.phase("call 2");
  allocation_log.phase("verify");
  allocation_log.release(allocation_log.allocate(1000), 1000);
  allocation_log.phase("end");
  EXPECT_EQ(record_of_pass(allocation_log.events(0)).peak_bytes, 10);
}

TEST(PassRecord, WhatWasBeforeSetUpIsNotOfTheCase) {
  AllocationLog allocation_log(MemoryKind::buffer, std::nullopt);
  const auto old = allocation_log.allocate(1000);
  allocation_log.release(old, 1000);
  allocation_log.phase("setup");
  allocation_log.allocate(10);
  allocation_log.phase("call 1");
  allocation_log.phase("end");
  EXPECT_EQ(record_of_pass(allocation_log.events(0)).peak_bytes, 10);
}

TEST(PassRecord, ARestoreCountsOnlyWhatItLeaves) {
  AllocationLog allocation_log(MemoryKind::buffer, std::nullopt);
  allocation_log.phase("setup");
  allocation_log.phase("inputs");
  const auto input = allocate(allocation_log, 40, "input");
  allocation_log.phase("outputs");
  allocation_log.phase("call 1");
  allocation_log.phase("restore");
  const auto staging = allocate(allocation_log, 500, "staging");
  allocate(allocation_log, 44, "an input with a name longer than the thirty-two bytes of a slot");
  allocation_log.release(input, 40);
  allocation_log.release(staging, 500);
  allocation_log.phase("call 2");
  allocation_log.release(allocation_log.allocate(1), 1);
  allocation_log.phase("verify");
  const MemoryPass record = record_of_pass(allocation_log.events(0));
  EXPECT_EQ(record.first_call_peak_bytes, 40);
  EXPECT_EQ(record.peak_bytes, 45);
  ASSERT_EQ(record.at_peak.size(), 2U);
  EXPECT_EQ(record.at_peak[0].name, "an input with a name longer than the thirty-two bytes of a slot");
}

TEST(PassRecord, LiveAfterCountsWhatWasNotReleased) {
  AllocationLog allocation_log(MemoryKind::buffer, std::nullopt);
  const auto released = allocation_log.allocate(10);
  allocation_log.phase("setup");
  allocation_log.allocate(7);
  allocation_log.release(released, 10);
  EXPECT_EQ(live_after(allocation_log.events(0)), 7);
  EXPECT_EQ(live_after(allocation_log.events(1)), 7)
      << "a release of what came before the events is no negative byte";
}

}  // namespace
}  // namespace peakmark
