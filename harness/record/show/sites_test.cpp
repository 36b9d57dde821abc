#include "record/show/sites.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/files_testing.hpp"
#include "record/profile/call_frames_testing.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Allocation allocation(Size bytes, std::uint64_t stack) {
  Allocation one;
  one.bytes = bytes;
  one.stack = stack;
  return one;
}

class Sites : public testing::Test {
 protected:
  std::vector<std::string> lines(std::size_t frames) const {
    std::vector<std::string> lines;
    for (const Site& site : sites_of(allocations, name_sites(stacks, {}, frames))) {
      std::string line = std::to_string(site.count) + " " + std::to_string(site.bytes);
      for (const std::string& frame : site.frames) line += "|" + frame;
      lines.push_back(line);
    }
    return lines;
  }
  const std::map<std::uint64_t, std::vector<CallFrame>> stacks{
      {1, {native("make"), native("left"), native("main")}},
      {2, {native("make"), native("right"), native("main")}},
      {3, {native("ffi"), native("glue"), python("load", 3), python("run", 9)}},
      {4, {native("ffi"), native("glue"), python("load", 4), python("run", 9)}},
      {5, {native("make"), remark("python: not held")}}};
  const std::vector<Allocation> allocations{allocation(100, 1), allocation(50, 2), allocation(50, 2),
                                            allocation(30, 3),  allocation(20, 4), allocation(5, 0),
                                            allocation(7, 99),  allocation(9, 5)};
};

TEST_F(Sites, AreTheInnermostFrameAndPythons) {
  EXPECT_THAT(lines(1), ElementsAre("3 200|make (program)", "1 30|load filter.py:3|ffi (program)",
                                    "1 20|load filter.py:4|ffi (program)", "2 12",
                                    "1 9|make (program)|[python: not held]"));
}

TEST_F(Sites, DifferByAsManyFramesAsAskedFor) {
  EXPECT_THAT(lines(2),
              ElementsAre("1 100|make (program)|left (program)", "2 100|make (program)|right (program)",
                          "1 30|load filter.py:3|run filter.py:9|ffi (program)|glue (program)",
                          "1 20|load filter.py:4|run filter.py:9|ffi (program)|glue (program)", "2 12",
                          "1 9|make (program)|[python: not held]"));
}

int a_function_of_this_file() {
  return 7;
}

TEST(ElfSymbols, NamesAFunctionThatTheProgramDoesNotExport) {
  const auto address = reinterpret_cast<std::uint64_t>(&a_function_of_this_file);
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(address), &info), 0);
  const std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(info.dli_fbase);
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_THAT(ElfSymbols(INT64_MAX).function(program, offset), testing::HasSubstr("a_function_of_this_file"));
  EXPECT_EQ(ElfSymbols(INT64_MAX).function(program, UINT64_MAX), "");
  EXPECT_EQ(ElfSymbols(0).function(program, offset), "");  // changed since
}

TEST(ElfSymbols, FilesThatAreNoneHaveNoNames) {
  const TemporaryFolder folder;
  const std::string text = folder.path() / "text";
  std::ofstream(text) << "\x7f"
                         "ELF and nothing else";
  ElfSymbols symbols(INT64_MAX);
  EXPECT_EQ(symbols.function(text, 1), "");
  EXPECT_EQ(symbols.function(folder.path() / "none", 1), "");
  EXPECT_EQ(symbols.function("", 1), "");
  EXPECT_EQ(symbols.function(folder.path(), 1), "");
  // Each beginning of a whole one is damaged in another way.
  std::ifstream whole("/proc/self/exe", std::ios::binary);
  std::string bytes(4096, '\0');
  whole.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  for (const std::size_t length : {16U, 63U, 64U, 500U, 4096U}) {
    const std::string part = folder.path() / ("part" + std::to_string(length));
    std::ofstream(part, std::ios::binary) << bytes.substr(0, length);
    EXPECT_EQ(symbols.function(part, 1), "") << length;
  }
}

CallFrame library(std::uint64_t line) {
  return {CallFrame::Kind::python, "realize", "/venv/lib/python3.11/site-packages/tinygrad/realize.py", line};
}

TEST(NameSites, BeginWithTheUsersLine) {
  const CallFrame buffer = native("create_buffer", "/site-packages/_cl.so");
  const std::map<std::uint64_t, std::vector<CallFrame>> stacks{
      {1, {buffer, library(9), library(5), python("main", 3)}},
      {2, {buffer, library(9), library(6), python("main", 3)}},
      {3, {buffer, library(9), library(5), python("main", 4), python("run", 8)}},
      {4, {buffer, library(9), remark("python: deeper than is recorded")}}};
  const auto names = name_sites(stacks, {}, 0);
  EXPECT_THAT(names.at(1), ElementsAre("main filter.py:3", "realize tinygrad/realize.py:5"));
  EXPECT_THAT(names.at(2), ElementsAre("main filter.py:3", "realize tinygrad/realize.py:6"));
  EXPECT_THAT(names.at(3), ElementsAre("main filter.py:4"));
  EXPECT_THAT(names.at(4), ElementsAre("realize tinygrad/realize.py:9", "[python: deeper than is recorded]"));
  const std::vector<Site> sites =
      sites_of({allocation(30, 1), allocation(20, 2), allocation(10, 3), allocation(7, 3)}, names);
  ASSERT_EQ(sites.size(), 3U);
  EXPECT_EQ(sites[2].bytes, 17);
  EXPECT_EQ(sites[2].count, 2);
}

TEST(NameSites, WithFramesAreTheInnermostAndTheUsersLine) {
  const std::map<std::uint64_t, std::vector<CallFrame>> stacks{
      {1, {native("alloc"), library(9), library(5), python("main", 3)}}, {2, {python("main", 4)}}};
  EXPECT_THAT(name_sites(stacks, {}, 1).at(1),
              ElementsAre("realize tinygrad/realize.py:9", "main filter.py:3", "alloc (program)"));
  EXPECT_THAT(name_sites(stacks, {}, 1).at(2), ElementsAre("main filter.py:4"));
}

TEST(NameSites, KeepFramesThatDistinguishSites) {
  // Two lines of one function that two places call: four chains, and no frame that more than half of them
  // share.
  const std::map<std::uint64_t, std::vector<CallFrame>> stacks{{1, {python("step", 5), python("main", 10)}},
                                                               {2, {python("step", 5), python("main", 20)}},
                                                               {3, {python("step", 6), python("main", 10)}},
                                                               {4, {python("step", 6), python("main", 20)}}};
  const auto names = name_sites(stacks, {{1, 10}, {2, 10}, {3, 10}, {4, 10}}, 0);
  EXPECT_THAT(names.at(2), ElementsAre("step filter.py:5"));
  EXPECT_THAT(names.at(3), ElementsAre("step filter.py:6"));
}

// As in UFO: one function makes what is large, and small tables have chains of their own.
TEST(NameSites, SkipWhatMostBytesGoThrough) {
  const CallFrame make = native("make");
  std::map<std::uint64_t, std::vector<CallFrame>> stacks{{1, {make, native("fft"), native("main")}},
                                                         {2, {make, native("filter"), native("main")}}};
  std::map<std::uint64_t, double> bytes{{1, 1 << 20}, {2, 1 << 20}};
  for (std::uint64_t id = 3; id < 9; ++id) {
    stacks[id] = {native("table" + std::to_string(id)), native("main")};
    bytes[id] = 16;
  }
  const auto names = name_sites(stacks, bytes, 0);
  EXPECT_THAT(names.at(1), ElementsAre("fft (program)"));
  EXPECT_THAT(names.at(2), ElementsAre("filter (program)"));
  EXPECT_THAT(names.at(3), ElementsAre("table3 (program)"));
  EXPECT_THAT(name_sites(stacks, {{1, 16}, {2, 16}, {3, 1 << 20}}, 0).at(1), ElementsAre("make (program)"));
}

}  // namespace
}  // namespace peakmark
