#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "record/ledger/ledger.hpp"
#include "record/show/profile_reports.hpp"
#include "record/show/sample_process.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::Not;

RecordedTree short_program() {
  SampleProcess process(100);
  process.say(EventType::phase, 1000, 0, "setup")
      .allocate(2000, 16, 4096)
      .say(EventType::phase, 3000, 0, "call")
      .allocate(4000, 32, 1024)
      .allocate(5000, 48, 1024)
      .allocate(5600, 64, 512, MemoryKind::host_pointer)
      .release(6000, 32)
      .release(7000, 48);
  return {{process.process()}};
}

TEST(Trace, IsJsonWhoseSpansBeginAndEnd) {
  std::ostringstream out;
  write_trace(short_program(), {}, out);
  const auto trace = nlohmann::json::parse(out.str());
  int begun = 0;
  int ended = 0;
  std::int64_t last_live = -1;
  for (const auto& event : trace.at("traceEvents")) {
    const std::string ph = event.at("ph");
    begun += ph == "b";
    ended += ph == "e";
    if (ph == "C" && event.at("name") == "requested bytes") last_live = event.at("args").at("live");
  }
  EXPECT_EQ(begun, 4);
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(last_live, 4096);
}

/// One large allocation, then many small ones that come and go, two at a time; one of them is named.
SampleProcess long_program(std::int64_t allocations) {
  SampleProcess process(100);
  process.say(EventType::phase, 1000, 0, "call").allocate(2000, 16, 1 << 20).fail(2001, 77);
  for (std::int64_t i = 0; i < allocations; ++i) {
    const auto address = static_cast<std::uint64_t>(100 + i);
    process.allocate(3000 + 10 * i, address, 100 + i % 7, i % 2 == 0 ? MemoryKind::buffer : MemoryKind::svm);
    if (i > 0) process.release(3005 + 10 * i, address - 1);
  }
  process.say(EventType::name, 3000 + 10 * allocations, 16, "table");
  return process;
}

struct TraceCounts {
  std::map<std::string, std::size_t> by_type;
  std::map<std::string, std::int64_t> most;  ///< of each counter
  nlohmann::json trace;
};

TraceCounts counts_of(const std::string& text) {
  TraceCounts counts;
  counts.trace = nlohmann::json::parse(text);
  for (const auto& event : counts.trace.at("traceEvents")) {
    ++counts.by_type[event.at("ph")];
    if (event.at("ph") != "C") continue;
    std::int64_t& most = counts.most[event.at("name")];
    most = std::max(most, event.at("args").at("live").get<std::int64_t>());
  }
  return counts;
}

TEST(Trace, OfALongProgramIsThinnedAndKeepsThePeakExactly) {
  const RecordedTree tree{{long_program(5'000).process()}};
  TraceOptions options;
  options.max_events = 1000;
  options.max_spans = 100;
  options.max_points = 400;
  std::ostringstream out;
  const TraceSummary summary = write_trace(tree, options, out);
  EXPECT_TRUE(summary.thinned);
  EXPECT_EQ(summary.allocations, 5'001U);
  EXPECT_EQ(summary.spans, 100U);
  EXPECT_LT(out.str().size(), 300'000U);  // in full it has 3 MB
  const TraceCounts counts = counts_of(out.str());
  const LedgerSummary ledger = summarise(tree.processes.front().events);
  EXPECT_EQ(counts.most.at("requested bytes"), ledger.peak_bytes);
  EXPECT_EQ(counts.most.at("svm bytes"), ledger.by_kind.at(MemoryKind::svm).peak_bytes);
  EXPECT_EQ(counts.by_type.at("b"), 100U);
  EXPECT_EQ(counts.by_type.at("i"), 1U);
  EXPECT_EQ(counts.by_type.at("B"), counts.by_type.at("E"));
  EXPECT_EQ(counts.trace.at("otherData").at("allocations"), 5'001);
  // What is live at the peak has its span, with its name.
  EXPECT_THAT(out.str(), HasSubstr("\"table\""));
}

TEST(Trace, InFullHasEverything) {
  const RecordedTree tree{{long_program(2'000).process()}};
  TraceOptions options;
  options.max_events = 1000;
  options.full = true;
  std::ostringstream out;
  EXPECT_FALSE(write_trace(tree, options, out).thinned);
  EXPECT_EQ(counts_of(out.str()).by_type.at("b"), 2'001U);
  EXPECT_THAT(out.str(), Not(HasSubstr("otherData")));
}

/// The peak comes early, of small allocations; larger ones come later and are never live together.
TEST(Trace, SpansOfThePeakComeBeforeLargerOnes) {
  SampleProcess process(1);
  for (std::uint64_t i = 1; i <= 5; ++i) process.allocate(static_cast<std::int64_t>(i), i, 100);
  for (std::uint64_t i = 1; i <= 5; ++i) process.release(static_cast<std::int64_t>(10 + i), i);
  for (int i = 0; i < 5; ++i) process.allocate(20 + 2 * i, 9, 300 + i).release(21 + 2 * i, 9);
  TraceOptions options;
  options.max_events = 10;
  options.max_spans = 6;
  std::ostringstream out;
  write_trace({{process.process()}}, options, out);
  std::multiset<std::int64_t> bytes;
  const auto trace = nlohmann::json::parse(out.str());
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "b") bytes.insert(event.at("args").at("bytes").get<std::int64_t>());
  }
  EXPECT_EQ(bytes, (std::multiset<std::int64_t>{100, 100, 100, 100, 100, 304}));
}

}  // namespace
}  // namespace peakmark
