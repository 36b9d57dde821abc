#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "record/show/groups.hpp"
#include "record/show/process_tree.hpp"
#include "record/show/profile_reports.hpp"
#include "record/show/sample_process.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

using Process = SampleProcess;

RecordedTree example() {
  Process process(100);
  process.say(EventType::phase, 1000, 0, "setup")
      .allocate(2000, 16, 4096)
      .say(EventType::name, 2001, 16, "coords \"x\"")
      .say(EventType::phase, 3000, 0, "call")
      .allocate(4000, 32, 1024)
      .allocate(5000, 48, 1024)
      .fail(5500, 1 << 20)
      .allocate(5600, 64, 512, MemoryKind::host_pointer)
      .release(6000, 32)
      .release(7000, 48);
  return {{process.process()}};
}

TEST(Show, TableNamesPeakContentsLeaksAndPhases) {
  const std::string table = profile_table(example());
  EXPECT_THAT(table, HasSubstr("program --flag  (pid 100, opencl-layer 1)"));
  EXPECT_THAT(table, HasSubstr("peak            6 KiB (6144 B)"));
  EXPECT_THAT(table, HasSubstr("coords \"x\""));
  EXPECT_THAT(table, HasSubstr("never released"));
  EXPECT_THAT(table, HasSubstr("beside the peak"));
  EXPECT_THAT(table, HasSubstr("1 failed"));
}

// What lives on counts to what is outside of phases, so its peak is often the highest.
TEST(Show, PhasesAreInOrderOfTheirPeaksAndTheTimeOutsideThemIsLast) {
  Process process(100);
  process.say(EventType::phase, 1000, 0, "small")
      .allocate(2000, 16, 10)
      .release(2500, 16)
      .say(EventType::phase, 3000, 0, "large")
      .allocate(4000, 32, 900)
      .say(EventType::phase, 5000, 0, "")
      .allocate(6000, 48, 500)
      .release(7000, 32)
      .release(8000, 48);
  const std::string table = profile_table({{process.process()}});
  const std::string phases = table.substr(table.find("\nphases\n"));
  EXPECT_LT(phases.find("large"), phases.find("small"));
  EXPECT_LT(phases.find("small"), phases.find("(no phase)"));
  EXPECT_THAT(table, HasSubstr("\nlive at the end 0 B\n"));
}

TEST(Show, JsonHasTheDocumentedKeys) {
  const auto json = nlohmann::json(profile_json(example()));
  EXPECT_EQ(json.at("program"), (nlohmann::json{"program", "--flag"}));
  EXPECT_EQ(json.at("pid"), 100);
  EXPECT_EQ(json.at("complete"), true);
  EXPECT_EQ(json.at("requested").at("peak_bytes"), 6144);
  EXPECT_EQ(json.at("requested").at("live_at_end_bytes"), 4096);
  EXPECT_EQ(json.at("requested").at("allocations"), 3);
  EXPECT_EQ(json.at("requested").at("failed_allocations"), 1);
  EXPECT_EQ(json.at("requested").at("total_bytes"), 6144);
  EXPECT_EQ(json.at("by_kind").at("host_pointer").at("peak_bytes"), 512);
  EXPECT_EQ(json.at("at_peak").at(0).at("name"), "coords \"x\"");
  EXPECT_EQ(json.at("at_peak").at(1).at("count"), 2);
  EXPECT_TRUE(json.at("pool_reserved_peak_bytes").is_null());
  EXPECT_TRUE(json.at("processes").empty());
  EXPECT_EQ(json.at("tree_peak_bytes"), 6144);
}

/// Six calls, each of which keeps 64 bytes of mapped host memory until the program ends.
Process repeating(bool is_synced) {
  Process process(100);
  if (is_synced) process.synced();
  for (std::uint64_t i = 1; i <= 6; ++i) {
    const auto time = static_cast<std::int64_t>(i) * 100;
    process.say(EventType::phase, time, 0, "call")
        .allocate(time + 1, i, 64, MemoryKind::host_mapped)
        .allocate(time + 2, 99, 1000)
        .release(time + 3, 99)
        .say(EventType::phase, time + 4, 0, "");
  }
  for (std::uint64_t i = 1; i <= 6; ++i) process.release(1000 + static_cast<std::int64_t>(i), i);
  return process;
}

TEST(Show, RepeatedPhasesHaveAVerdict) {
  const std::string table = profile_table({{repeating(true).process()}});
  EXPECT_THAT(table, HasSubstr("\nrepeated phases\n"));
  EXPECT_THAT(table, HasSubstr("leak: 64 B each time\n"));
  EXPECT_THAT(table, HasSubstr("\nleft behind by repetitions of call\n"));
  const auto json = nlohmann::json(profile_json({{repeating(true).process()}}));
  const nlohmann::json& phase = json.at("repetitions").at(0);
  EXPECT_EQ(phase.at("times"), 6);
  EXPECT_EQ(phase.at("fails"), true);
  EXPECT_EQ(phase.at("peak_drift_bytes"), 0);
  EXPECT_EQ(phase.at("growth").at(0).at("kind"), "host_mapped");
  EXPECT_EQ(phase.at("growth").at(0).at("bytes_per_repetition"), 64);
  EXPECT_TRUE(phase.at("growth").at(0).at("where").is_null());
}

TEST(Show, WhatADeviceMayHaveKeptIsNoLeak) {
  EXPECT_THAT(profile_table({{repeating(false).process()}}),
              HasSubstr("320 B released after the last repetition, by the program or by a device that was "
                        "behind: record with --sync\n"));
  const auto json = nlohmann::json(profile_json({{repeating(false).process()}}));
  EXPECT_EQ(json.at("repetitions").at(0).at("fails"), false);
  EXPECT_TRUE(json.at("repetitions").at(0).at("peak_drift_bytes").is_null()) << "unknown, not 0";
  EXPECT_TRUE(json.at("pools").is_null());
}

TEST(Show, KindsHaveTheirBytesAtThePeak) {
  Process process(100);
  process.allocate(1, 1, 100)
      .allocate(2, 2, 50, MemoryKind::image)
      .allocate(3, 3, 7, MemoryKind::host_pointer)
      .release(4, 2)
      .allocate(5, 4, 10);
  const auto kinds = nlohmann::json(profile_json({{process.process()}})).at("by_kind");
  EXPECT_EQ(kinds.at("buffer").at("at_peak_bytes"), 100);
  EXPECT_EQ(kinds.at("buffer").at("live_at_end_bytes"), 110);
  EXPECT_EQ(kinds.at("image").at("at_peak_bytes"), 50);
  EXPECT_TRUE(kinds.at("host_pointer").at("at_peak_bytes").is_null()) << "unknown, not 0";
}

TEST(Show, PoolsHaveWhatTheyHoldAndWhatIsRequested) {
  Process process(100);
  process.allocate(1, 1, 1000, MemoryKind::pool_async).from_pool(7).pool(2, 7, 4096);
  process.release(3, 1).pool(4, 7, 4096);
  const std::string table = profile_table({{process.process()}});
  EXPECT_THAT(table, HasSubstr("  at the peak           4 KiB     1000 B      3.023 KiB\n"));
  const auto pools = nlohmann::json(profile_json({{process.process()}})).at("pools");
  EXPECT_EQ(pools.at("at_peak").at("fragmentation_bytes"), 3096);
  EXPECT_EQ(pools.at("max_fragmentation").at("fragmentation_bytes"), 4096);
}

TEST(Show, JsonCountsReleasesThatReleaseNothing) {
  Process process(100);
  process.allocate(1000, 16, 4096).release(2000, 16).release(3000, 24);
  EXPECT_EQ(nlohmann::json(profile_json({{process.process()}})).at("requested").at("unmatched_releases"), 1);
  process.allocate(4000, 32, 100).release(5000, 32).refused_release(6000, 32, 100, 700);
  const auto json = nlohmann::json(profile_json({{process.process()}})).at("requested");
  EXPECT_EQ(json.at("refused_releases"), 1);
  EXPECT_EQ(json.at("allocations"), 2);
  EXPECT_EQ(json.at("live_at_end_bytes"), 100);
  EXPECT_THAT(profile_table({{process.process()}}), HasSubstr("releases that the driver refused: 1"));
}

TEST(Show, ReportsThatAFileIsCutShort) {
  RecordedTree tree = example();
  tree.processes.front().complete = false;
  tree.processes.front().cut_short = true;
  tree.processes.front().header.closed = 1;
  tree.processes.front().header.end = 1000;
  EXPECT_THAT(profile_table(tree), HasSubstr("incomplete: the file is cut short, 10 of its 1000 events"));
  EXPECT_EQ(nlohmann::json(profile_json(tree)).at("complete"), false);
}

TEST(Show, EventsAreALineEach) {
  std::ostringstream out;
  write_events(example(), out);
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_THAT(text, HasSubstr("failed"));
  EXPECT_THAT(text, HasSubstr("error -4"));
}

/// Names, phases and arguments are the program's: a terminal would obey escape sequences in them.
TEST(Show, NothingOfTheProgramsReachesATerminalAsItIs) {
  Process program(100);
  program.say(EventType::phase, 1000, 0, "call\x1b[2J")
      .allocate(2000, 16, 4096)
      .from(7)
      .say(EventType::name, 2001, 16, "red\x1b[31m\nline")
      .say(EventType::note, 2002, 0, "a note\r\x07")
      .say(EventType::stack, 2003, 7, "N\tf\x1b[0m\t0\t/lib\t10\n");
  RecordedProcess recorded = program.process();
  recorded.command_line = {"python", "-c", "one\ntwo\x9b"};
  const RecordedTree tree{{recorded, Process(101).process()}};
  std::ostringstream events;
  write_events(tree, events);
  ReportOptions by_site;
  by_site.by_site = true;
  for (const std::string& text : {profile_table(tree), profile_table(tree, by_site), events.str()}) {
    for (const char sign : {'\x1b', '\r', '\x07', '\x9b'}) {
      EXPECT_EQ(text.find(sign), std::string::npos) << text;
    }
  }
  EXPECT_THAT(profile_table(tree), HasSubstr("python -c one\\ntwo\\x9b  (pid 100"));
  EXPECT_THAT(profile_table(tree), HasSubstr("red\\x1b[31m\\nline"));
  EXPECT_THAT(profile_table(tree), HasSubstr("note: a note\\r\\x07\n"));
  EXPECT_THAT(events.str(), HasSubstr("call\\x1b[2J\n"));
  EXPECT_THAT(events.str(), HasSubstr("    N\tf\\x1b[0m\t0\t/lib\t10\n"));
  const auto json = nlohmann::json(profile_json(tree));
  EXPECT_EQ(json.at("at_peak").at(0).at("name"), "red\x1b[31m\nline");
}

/// A program that asks for 1 TiB, and again in another phase, from two places.
RecordedTree refused_example() {
  Process process(100);
  process.say(EventType::stack, 100, 7, "N\tinner\t0\tlib.so\t10\nN\touter\t0\tprogram\t20\n")
      .say(EventType::stack, 101, 8, "N\tinner\t0\tlib.so\t30\nN\tother\t0\tprogram\t40\n")
      .say(EventType::phase, 1000, 0, "call")
      .fail(2000, std::int64_t{1} << 40)
      .from(7)
      .fail(2001, std::int64_t{1} << 40)
      .from(8)
      .fail(2002, 4096)
      .from(8);
  return {{process.process()}};
}

TEST(Show, RefusedAllocationsHaveSizeErrorPhaseAndSite) {
  const auto json = nlohmann::json(profile_json(refused_example()));
  EXPECT_EQ(json.at("refused"), nlohmann::json::parse(R"json([
    {"bytes": 1099511627776, "kind": "image", "error": -4, "error_name": "CL_MEM_OBJECT_ALLOCATION_FAILURE",
     "phase": "call", "frames": ["outer (program)"], "refused_by": "driver", "count": 1},
    {"bytes": 1099511627776, "kind": "image", "error": -4, "error_name": "CL_MEM_OBJECT_ALLOCATION_FAILURE",
     "phase": "call", "frames": ["other (program)"], "refused_by": "driver", "count": 1},
    {"bytes": 4096, "kind": "image", "error": -4, "error_name": "CL_MEM_OBJECT_ALLOCATION_FAILURE",
     "phase": "call", "frames": ["other (program)"], "refused_by": "driver", "count": 1}])json"));
  ReportOptions one_frame;
  one_frame.frames = 1;
  EXPECT_THAT(profile_table(refused_example(), one_frame), testing::ContainsRegex("1 TiB +2 +-4 .* inner"));
  ReportOptions two_frames;
  two_frames.frames = 2;
  const std::string table = profile_table(refused_example(), two_frames);
  EXPECT_THAT(table, HasSubstr("refused by the driver\n"));
  EXPECT_THAT(table, testing::ContainsRegex(
                         "1099511627776 +1 TiB +1 +-4 CL_MEM_OBJECT_ALLOCATION_FAILURE +image +call +inner"));
  EXPECT_THAT(table, HasSubstr("other (program)"));

  const auto plain = nlohmann::json(profile_json(example()));
  EXPECT_EQ(plain.at("refused").size(), 1U);
  EXPECT_TRUE(plain.at("refused").at(0).at("frames").is_null());
  EXPECT_THAT(profile_table(example()), HasSubstr("1048576"));
}

TEST(Show, WhatEachLimitRefusedHasAHeadingOfItsOwn) {
  Process process(100);
  process.say(EventType::stack, 100, 7, "N\tinner\t0\tlib.so\t10\n")
      .allocate(1000, 16, 700)
      .fail(2000, 500)
      .by(RefusedBy::budget)
      .from(7)
      .fail(2000, 600)
      .by(RefusedBy::max_allocation)
      .from(7)
      .fail(2001, 4096)
      .from(7);
  RecordedTree tree{{process.process()}};
  tree.processes[0].header.budget = 1024;
  const std::string table = profile_table(tree);
  EXPECT_THAT(table, HasSubstr("budget          1 KiB (1024 B) per device\n"));
  EXPECT_THAT(table, testing::ContainsRegex(
                         "refused by the budget of 1 KiB\n.*\n +500 .* inner \\(lib.so\\)\n"
                         "\nrefused by the limit of one allocation\n.*\n +600 .* inner \\(lib.so\\)\n"
                         "\nrefused by the driver\n.*\n +4096 "));
  const auto json = nlohmann::json(profile_json(tree));
  EXPECT_EQ(json.at("budget_bytes"), 1024);
  EXPECT_EQ(json.at("requested").at("peak_bytes"), 700);
  EXPECT_EQ(json.at("requested").at("failed_allocations"), 3);
  EXPECT_EQ(json.at("refused").at(0).at("refused_by"), "driver");
  EXPECT_EQ(json.at("refused").at(1).at("refused_by"), "max_allocation");
  EXPECT_EQ(json.at("refused").at(2).at("refused_by"), "budget");
  tree.processes[0].header.budget = 0;
  EXPECT_TRUE(nlohmann::json(profile_json(tree)).at("budget_bytes").is_null());
}

TEST(Show, OfATreeRefusalsKeepThePhaseOfTheirProcess) {
  const RecordedTree tree{{Process(1).say(EventType::phase, 5, 0, "call").fail(30, 100).process(),
                           Process(2).say(EventType::phase, 6, 0, "other").fail(20, 300).process()}};
  const LedgerSummary together = summarise_together(tree);
  ASSERT_EQ(together.refused.size(), 2U);
  EXPECT_EQ(together.refused[0].phase, "other");
  EXPECT_EQ(together.refused[1].phase, "call");
  EXPECT_THAT(profile_table(tree), testing::ContainsRegex("refused by the driver in process 2\n.*\n +300 "));
}

TEST(Show, TheTotalOfProcessesIsFirstAndCommandLinesAreCutInTheMiddle) {
  RecordedTree tree{{Process(1).allocate(10, 16, 100).allocate(11, 32, 50).process(), Process(2).process()}};
  tree.processes[0].command_line = {"/opt/environments/python3", "/home/me/a/long/way/to/reconstruct.py",
                                    "--slices=20"};
  ReportOptions options;
  options.max_width = 80;
  const std::string text = profile_table(tree, options);
  EXPECT_TRUE(text.starts_with("peak of all together  ")) << text;
  EXPECT_THAT(text, testing::ContainsRegex("buffer +2 +100 B +150  150 B")) << "count, largest, sum";
  EXPECT_LT(text.find("\nprocesses\n"), text.find("(pid 1, ")) << "then each process, then the program";
  const std::size_t begin = text.find("\n  program ") + 1;
  const std::string table = text.substr(begin, text.find("\n\n", begin) - begin);
  EXPECT_NE(table.find("…"), std::string::npos) << table;
  EXPECT_NE(table.find("--slices=20"), std::string::npos) << "the end is the most informative part";
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U + 2) << line;  // … is 3 bytes
}

/// Two processes of 100 bytes each that never overlap need 100, not 200; two that do need 200, though their
/// handles are the same number.
TEST(Show, ATreesPeakIsMergedByTime) {
  RecordedTree apart{{Process(1).allocate(10, 16, 100).release(20, 16).process(),
                      Process(2).allocate(30, 16, 100).release(40, 16).process()}};
  EXPECT_EQ(summarise(merge_by_time(apart)).peak_bytes, 100);
  RecordedTree together{{Process(1).allocate(10, 16, 100).release(35, 16).process(),
                         Process(2).allocate(30, 16, 100).release(40, 16).process()}};
  EXPECT_EQ(summarise(merge_by_time(together)).peak_bytes, 200);
  EXPECT_EQ(summarise(merge_by_time(together)).live_at_end_bytes, 0);
  EXPECT_THAT(profile_table(together), HasSubstr("peak of all together  200 B"));
}

TEST(Show, OfATreeItListsWhatWasLiveAtThePeakOfAll) {
  const RecordedTree tree{{Process(1).allocate(10, 16, 100).allocate(11, 32, 7).release(12, 32).process(),
                           Process(2).say(EventType::phase, 5, 0, "call").allocate(30, 16, 300).process()}};
  const auto json = nlohmann::json(profile_json(tree));
  EXPECT_EQ(json.at("tree_peak_bytes"), 400);
  const auto& at_peak = json.at("tree_at_peak");
  ASSERT_EQ(at_peak.size(), 2U);
  EXPECT_EQ(
      at_peak[0],
      (nlohmann::json{
          {"pid", 2}, {"name", ""}, {"kind", "buffer"}, {"phase", "call"}, {"bytes", 300}, {"count", 1}}));
  EXPECT_EQ(at_peak[1].at("pid"), 1);
  EXPECT_EQ(at_peak[1].at("bytes"), 100);
  EXPECT_EQ(at_peak[1].at("phase"), "") << "the other process's phase";
  EXPECT_THAT(profile_table(tree), testing::ContainsRegex("peak of all together  400 B.*\n.*pid.*\n +2 "));
  EXPECT_EQ(nlohmann::json(profile_json({{Process(1).process()}})).at("tree_at_peak"), nullptr);
}

TEST(Show, AProcessWithBothRecordersIsOneAndItsPhasesAreListedOnce) {
  const auto of_cuda = [](const Process& process) {
    RecordedProcess recorded = process.process();
    std::strcpy(recorded.header.recorder, "cupti 130001");
    return recorded;
  };
  const Process opencl =
      Process(1).say(EventType::phase, 10, 0, "call").allocate(20, 16, 100).say(EventType::phase, 40, 0, "");
  const Process cuda =
      Process(1).say(EventType::phase, 11, 0, "call").allocate(30, 48, 50).say(EventType::phase, 41, 0, "");
  const auto phases_of = [](const RecordedTree& tree) {
    std::vector<std::uint64_t> places;
    for (const Event& event : merge_by_time(tree)) {
      if (event.type == EventType::phase) places.push_back(event.address >> 48U);
    }
    return places;
  };
  const RecordedTree both{{opencl.process(), of_cuda(cuda)}};
  EXPECT_THAT(phases_of(both), testing::ElementsAre(0, 0));
  EXPECT_EQ(summarise_together(both).peak_bytes, 150);
  EXPECT_EQ(summarise_together(both).at_peak.at(1).phase, "call");
  // It executed itself: another life, with both recorders again.
  EXPECT_THAT(phases_of({{opencl.process(), of_cuda(cuda), opencl.process(), of_cuda(cuda)}}),
              testing::ElementsAre(0, 2, 0, 2));
  // Other processes, and other programs, are others.
  EXPECT_EQ(phases_of({{opencl.process(), cuda.process()}}).size(), 4U);
  RecordedProcess other = of_cuda(cuda);
  other.command_line = {"another"};
  EXPECT_EQ(phases_of({{opencl.process(), other}}).size(), 4U);
}

TEST(Show, PhasesAndFailedAllocationsNameTheirProcessInATree) {
  const RecordedTree tree{{Process(1).say(EventType::phase, 10, 0, "call").process(),
                           Process(2).say(EventType::phase, 20, 0, "call").fail(30, 100).process()}};
  const std::vector<Event> merged = merge_by_time(tree);
  ASSERT_EQ(merged.size(), 3U);
  EXPECT_EQ(merged[0].address >> 48U, 0U);
  EXPECT_EQ(merged[1].address >> 48U, 1U);
  EXPECT_EQ(merged[2].address >> 48U, 1U);
}

/// What a process did not release goes when it ends: another that begins later does not stand on top of it.
TEST(Show, AProcessThatHasEndedHoldsNothing) {
  const auto leaking = [](std::int32_t pid, std::int64_t time, std::int64_t end) {
    RecordedProcess process = Process(pid).allocate(time, 16, 100).process();
    process.header.start_monotonic_ns = time - 1;
    process.header.end_monotonic_ns = end;
    return process;
  };
  const RecordedTree apart{{leaking(1, 10, 20), leaking(2, 30, 40)}};
  EXPECT_EQ(summarise_together(apart).peak_bytes, 100);
  EXPECT_EQ(summarise_together(apart).live_at_end_bytes, 200);  // neither released it
  EXPECT_EQ(summarise_together(apart).leaked.size(), 2U);
  const RecordedTree together{{leaking(1, 10, 35), leaking(2, 30, 40)}};
  EXPECT_EQ(summarise_together(together).peak_bytes, 200);
  // Nobody saw it end: it may have held its memory until the end of all.
  const RecordedTree unknown{{leaking(1, 10, 0), leaking(2, 30, 40)}};
  EXPECT_EQ(summarise_together(unknown).peak_bytes, 200);
  // The same process: it executed another program in its place.
  const RecordedTree executed{{leaking(1, 10, 50), leaking(1, 30, 50)}};
  EXPECT_EQ(summarise_together(executed).peak_bytes, 100);
}

TEST(Show, ProcessesAreListedBelowTheirParents) {
  const auto process = [](std::int32_t pid, std::int32_t parent, std::int64_t start) {
    RecordedProcess one = Process(pid).allocate(start + 1, 16, 100).process();
    one.header.parent_pid = parent;
    one.header.start_monotonic_ns = start;
    one.command_line = {"p" + std::to_string(pid)};
    return one;
  };
  // 1 starts 2 and 4; 2 starts 3; 5 was started by a shell that is not recorded.
  const RecordedTree tree{
      {process(1, 99, 10), process(2, 1, 20), process(3, 2, 30), process(4, 1, 40), process(5, 98, 50)}};
  std::string order;
  for (const ProcessPlace& place : process_order(tree)) {
    order += std::string(static_cast<std::size_t>(place.depth), '>') + std::to_string(place.index + 1) + " ";
  }
  EXPECT_EQ(order, "1 >2 >>3 >4 5 ");
  const std::string table = profile_table(tree);
  EXPECT_THAT(table, HasSubstr("\n  p1 "));
  EXPECT_THAT(table, HasSubstr("\n    p2 "));
  EXPECT_THAT(table, HasSubstr("\n      p3 "));
  EXPECT_THAT(profile_json(tree).dump(2), HasSubstr("\"parent_pid\": 99"));
}

TEST(Show, AProfileBringsTheOtherProcessesBesideIt) {
  const TemporaryFolder folder;
  const auto write = [&](const char* name, std::int32_t pid, std::int64_t start) {
    ProfileHeader header = Process(pid).process().header;
    header.start_monotonic_ns = start;
    std::ofstream(folder.path() / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(&header), sizeof(header));
  };
  EXPECT_THROW(read_tree(folder.path() / "run.peak"), UsageError);
  write("run.peak.12", 12, 300);
  write("run.peak.7", 7, 200);
  write("run.peak.txt", 1, 1);
  write("other.peak.9", 9, 1);
  EXPECT_EQ(read_tree(folder.path() / "run.peak").processes.front().header.pid, 7);
  write("run.peak", 3, 250);
  const RecordedTree tree = read_tree(folder.path() / "run.peak");
  ASSERT_EQ(tree.processes.size(), 3U);
  EXPECT_EQ(tree.processes[0].header.pid, 3);
  EXPECT_EQ(tree.processes[1].header.pid, 7);
  EXPECT_EQ(tree.processes[2].header.pid, 12);
}

TEST(Show, DevicesOfAProgramHaveTheirPeaks) {
  SampleProcess sample(1);
  sample.say(EventType::device, 1, 1, "0 PoCL: cpu\n")
      .say(EventType::device, 2, 2, "1 PoCL: basic\n")
      .allocate(3, 16, 3000)
      .on(1)
      .release(4, 16)
      .allocate(5, 32, 2000)
      .on(2);
  const RecordedTree tree{{sample.process()}};
  const std::string table = profile_table(tree);
  EXPECT_THAT(table, testing::ContainsRegex(
                         "\ndevices +peak +live at the end +allocations\n"
                         "  PoCL: cpu +2.93 KiB +0 B +1\n  PoCL: basic +1.953 KiB +1.953 KiB +1\n"));
  EXPECT_EQ(nlohmann::json(profile_json(tree)).at("devices"), nlohmann::json::parse(R"json([
    {"name": "PoCL: cpu", "peak_bytes": 3000, "live_at_end_bytes": 0, "allocations": 1},
    {"name": "PoCL: basic", "peak_bytes": 2000, "live_at_end_bytes": 2000, "allocations": 1}])json"));
  const RecordedTree one{{SampleProcess(1).allocate(1, 10, 100).process()}};
  EXPECT_TRUE(nlohmann::json(profile_json(one)).at("devices").is_null());
  EXPECT_THAT(profile_table(one), testing::Not(HasSubstr("devices")));
}

TEST(Show, OnlyAllocationsNeedCallStacks) {
  ReportOptions by_site;
  by_site.by_site = true;
  const RecordedTree nothing{{SampleProcess(1).process()}};
  EXPECT_THAT(profile_table(nothing, by_site), testing::Not(HasSubstr("--stacks")));
  const RecordedTree one{{SampleProcess(1).allocate(1, 10, 100).process()}};
  EXPECT_THAT(profile_table(one, by_site), HasSubstr("record it with --stacks"));
  const RecordedTree refused{{SampleProcess(1).fail(1, 100).process()}};
  EXPECT_THAT(profile_table(refused, by_site), HasSubstr("record it with --stacks"));
}

}  // namespace
}  // namespace peakmark
