#include "worker/pass_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/dry/books.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::Field;

std::uint64_t allocate(Books& books, Size bytes, std::string_view name) {
  const std::uint64_t address = books.allocate(bytes);
  books.name(address, name);
  return address;
}

TEST(PassRecord, TellsSetUpInputsAndOutputsApart) {
  Books books(MemoryKind::buffer, std::nullopt);
  books.phase("set-up");
  allocate(books, 5, "plan");
  const auto scratch = allocate(books, 100, "made and dropped in set-up");
  books.release(scratch, 100);
  books.phase("inputs");
  allocate(books, 70, "input");
  books.phase("outputs");
  allocate(books, 300, "output");
  books.phase("call 1");
  books.phase("call 2");
  books.phase("verify");
  books.phase("end");
  const MemoryPass record = record_of_pass(books.events(0));
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
  Books books(MemoryKind::buffer, std::nullopt);
  books.phase("set-up");
  const auto staging = allocate(books, 100, "staging");
  books.phase("inputs");
  allocate(books, 70, "input");
  books.release(staging, 100);
  books.phase("outputs");
  books.phase("call 1");
  books.phase("call 2");
  books.phase("verify");
  const MemoryPass record = record_of_pass(books.events(0));
  EXPECT_EQ(record.setup_bytes, 100);
  EXPECT_EQ(record.input_bytes, -30);
}

TEST(PassRecord, ASecondCallThatNeedsMoreIsThePeak) {
  Books books(MemoryKind::buffer, std::nullopt);
  books.phase("set-up");
  books.phase("inputs");
  books.allocate(10);
  books.phase("outputs");
  books.phase("call 1");
  books.release(books.allocate(20), 20);
  books.phase("call 2");
  books.release(books.allocate(32), 32);
  books.phase("verify");
  const MemoryPass record = record_of_pass(books.events(0));
  EXPECT_EQ(record.first_call_peak_bytes, 30);
  EXPECT_EQ(record.peak_bytes, 42);
}

TEST(PassRecord, VerificationLiesOutsideThePeak) {
  Books books(MemoryKind::buffer, std::nullopt);
  books.phase("set-up");
  books.allocate(10);
  books.phase("call 1");
  books.phase("call 2");
  books.phase("verify");
  books.release(books.allocate(1000), 1000);
  books.phase("end");
  EXPECT_EQ(record_of_pass(books.events(0)).peak_bytes, 10);
}

TEST(PassRecord, WhatWasBeforeSetUpIsNotOfTheCase) {
  Books books(MemoryKind::buffer, std::nullopt);
  const auto old = books.allocate(1000);
  books.release(old, 1000);
  books.phase("set-up");
  books.allocate(10);
  books.phase("call 1");
  books.phase("end");
  EXPECT_EQ(record_of_pass(books.events(0)).peak_bytes, 10);
}

TEST(PassRecord, ARestoreCountsOnlyWhatItLeaves) {
  Books books(MemoryKind::buffer, std::nullopt);
  books.phase("set-up");
  books.phase("inputs");
  const auto input = allocate(books, 40, "input");
  books.phase("outputs");
  books.phase("call 1");
  books.phase("restore");
  const auto staging = allocate(books, 500, "staging");
  allocate(books, 44, "an input with a name longer than the thirty-two bytes of a slot");
  books.release(input, 40);
  books.release(staging, 500);
  books.phase("call 2");
  books.release(books.allocate(1), 1);
  books.phase("verify");
  const MemoryPass record = record_of_pass(books.events(0));
  EXPECT_EQ(record.first_call_peak_bytes, 40);
  EXPECT_EQ(record.peak_bytes, 45);
  ASSERT_EQ(record.at_peak.size(), 2U);
  EXPECT_EQ(record.at_peak[0].name, "an input with a name longer than the thirty-two bytes of a slot");
}

TEST(PassRecord, LiveAfterCountsWhatWasNotReleased) {
  Books books(MemoryKind::buffer, std::nullopt);
  const auto released = books.allocate(10);
  books.phase("set-up");
  books.allocate(7);
  books.release(released, 10);
  EXPECT_EQ(live_after(books.events(0)), 7);
  EXPECT_EQ(live_after(books.events(1)), 7) << "a release of what came before the events is no negative byte";
}

}  // namespace
}  // namespace peakmark
