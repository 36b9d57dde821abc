#include "show/sites.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/files_testing.hpp"
#include "profile/call_frames_testing.hpp"
#include "show/elf_symbols.hpp"

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
    for (const Site& site : sites_of(allocations, stacks, frames)) {
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

TEST(WithoutWrappers, BeginsWhereSitesDiffer) {
  const CallFrame buffer = native("create_buffer", "/site-packages/_cl.so");
  const CallFrame init = python("Array.__init__", 530);
  const CallFrame zeros = python("zeros", 2000);
  const auto at = [](std::uint64_t line) { return python("main", line); };
  const std::map<std::uint64_t, std::vector<CallFrame>> stacks{{1, {buffer, init, zeros, at(10)}},
                                                               {2, {buffer, init, zeros, at(11)}},
                                                               {3, {buffer, init, zeros, at(12)}},
                                                               {4, {buffer, init, at(20)}},
                                                               {5, {buffer, at(30)}}};
  const auto without = without_wrappers(stacks, {});
  EXPECT_THAT(without.at(1), ElementsAre(buffer, at(10))) << "behind Array.__init__ and zeros";
  EXPECT_THAT(without.at(2), ElementsAre(buffer, at(11)));
  EXPECT_THAT(without.at(4), ElementsAre(buffer, at(20)));
  EXPECT_THAT(without.at(5), ElementsAre(buffer, at(30)));
}

TEST(WithoutWrappers, KeepsFramesThatDistinguishSites) {
  // Two lines of one function that two places call: four chains, and no frame that more than half of them
  // share.
  const std::map<std::uint64_t, std::vector<CallFrame>> stacks{{1, {python("step", 5), python("main", 10)}},
                                                               {2, {python("step", 5), python("main", 20)}},
                                                               {3, {python("step", 6), python("main", 10)}},
                                                               {4, {python("step", 6), python("main", 20)}}};
  EXPECT_EQ(without_wrappers(stacks, {{1, 10}, {2, 10}, {3, 10}, {4, 10}}), stacks);
  const std::map<std::uint64_t, std::vector<CallFrame>> one{{1, {python("step", 5), python("main", 10)}}};
  EXPECT_EQ(without_wrappers(one, {{1, 10}}), one) << "a single site is not shortened";
  const std::map<std::uint64_t, std::vector<CallFrame>> outermost{{1, {native("main")}},
                                                                  {2, {native("main")}}};
  EXPECT_EQ(without_wrappers(outermost, {{1, 10}}), outermost);
}

// As in UFO: one function makes what is large, and small tables have chains of their own.
TEST(WithoutWrappers, SkipsWhatMostBytesGoThrough) {
  const CallFrame make = native("make");
  std::map<std::uint64_t, std::vector<CallFrame>> stacks{{1, {make, native("fft"), native("main")}},
                                                         {2, {make, native("filter"), native("main")}}};
  std::map<std::uint64_t, double> bytes{{1, 1 << 20}, {2, 1 << 20}};
  for (std::uint64_t id = 3; id < 9; ++id) {
    stacks[id] = {native("table" + std::to_string(id)), native("main")};
    bytes[id] = 16;
  }
  const auto without = without_wrappers(stacks, bytes);
  EXPECT_THAT(without.at(1), ElementsAre(native("fft"), native("main")));
  EXPECT_THAT(without.at(2), ElementsAre(native("filter"), native("main")));
  EXPECT_EQ(without.at(3), stacks.at(3));
  EXPECT_EQ(without_wrappers(stacks, {{1, 16}, {2, 16}, {3, 1 << 20}}), stacks);
}

TEST(WithoutWrappers, SkipsNativeFramesThatPythonCalled) {
  const CallFrame buffer = native("Buffer::make");
  const CallFrame line = python("train", 7);
  const std::map<std::uint64_t, std::vector<CallFrame>> stacks{
      {1, {buffer, native("Trees::grow"), native("Booster"), line}},
      {2, {buffer, native("Trees::split"), native("Booster"), line}},
      {3, {native("Table::make"), native("Booster"), line}}};
  const auto without = without_wrappers(stacks, {});
  std::vector<Site> sites = sites_of({allocation(30, 1), allocation(20, 2), allocation(10, 3)}, without, 1);
  ASSERT_EQ(sites.size(), 3U);
  EXPECT_THAT(sites[0].frames, ElementsAre("train filter.py:7", "Trees::grow (program)"));
  EXPECT_THAT(sites[1].frames, ElementsAre("train filter.py:7", "Trees::split (program)"));
  EXPECT_THAT(sites[2].frames, ElementsAre("train filter.py:7", "Table::make (program)"));
  sites = sites_of({allocation(30, 1)}, stacks, 2);
  EXPECT_THAT(sites[0].frames,
              ElementsAre("train filter.py:7", "Buffer::make (program)", "Trees::grow (program)"));
}

TEST(SitesOf, ALeakHasTheUsersLine) {
  const auto library = [](std::uint64_t line) {
    return CallFrame{CallFrame::Kind::python, "realize", "/venv/lib/python3.11/site-packages/realize.py",
                     line};
  };
  const std::map<std::uint64_t, std::vector<CallFrame>> stacks{
      {1, {native("alloc"), library(9), library(5), python("main", 3)}}, {2, {python("main", 4)}}};
  EXPECT_THAT(sites_of({allocation(30, 1)}, stacks, 1, true)[0].frames,
              ElementsAre("realize realize.py:9", "main filter.py:3", "alloc (program)"));
  EXPECT_THAT(sites_of({allocation(30, 1)}, stacks, 1)[0].frames,
              ElementsAre("realize realize.py:9", "alloc (program)"));
  EXPECT_THAT(sites_of({allocation(30, 2)}, stacks, 1, true)[0].frames, ElementsAre("main filter.py:4"));
}

}  // namespace
}  // namespace peakmark
