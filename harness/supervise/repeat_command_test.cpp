#include "supervise/repeat_command.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace peakmark {
namespace {

PlannedCase planned(const std::string& name, const std::string& backend) {
  PlannedCase planned;
  planned.name = name;
  planned.sweep_case.backend = backend;
  return planned;
}

TEST(RepeatCommand, NamesEverythingThatMatters) {
  SweepOptions options;
  options.selection.suites = {"suites/smoke.toml", "it's mine.toml"};
  options.selection.backend = "opencl";
  options.memory_only = true;
  options.repetitions = 3;
  options.worker = "/opt/bench";
  DeviceInfo device;
  device.backend = Backend::opencl;
  device.index = 2;
  EXPECT_EQ(
      repeat_command(options, device, planned("mul_add/whole/opencl/n:1", "opencl")),
      R"(peakmark run suites/smoke.toml 'it'\''s mine.toml' --filter '^mul_add/whole/opencl/n:1$' --device 2 )"
      "--backend opencl --worker /opt/bench --memory-only --repetitions 3 -o alone.json");
  options = {};
  options.selection.suites = {"a.toml"};
  options.selection.device = "EPYC";  // found by its name, and told by its index
  EXPECT_EQ(repeat_command(options, device, planned("a/b/opencl", "opencl")),
            "peakmark run a.toml --filter '^a/b/opencl$' --device 2 --backend opencl -o alone.json");
  options.case_limit = {std::chrono::milliseconds(2500), std::chrono::milliseconds(0)};
  EXPECT_EQ(
      repeat_command(options, device, planned("a/b/opencl", "opencl")),
      "peakmark run a.toml --filter '^a/b/opencl$' --device 2 --backend opencl --timeout 2.5 -o alone.json");
  options.case_limit = {};
  // A `dry` case of a run on another device keeps its backend.
  EXPECT_EQ(repeat_command(options, device, planned("a/b/dry", "dry")),
            "peakmark run a.toml --filter '^a/b/dry$' -o alone.json");
  options.selection.backend = "dry";
  EXPECT_EQ(repeat_command(options, device, planned("a/b/dry", "dry")),
            "peakmark run a.toml --filter '^a/b/dry$' --backend dry -o alone.json");
}

TEST(RepeatCommand, TheFilterFindsExactlyTheCase) {
  const std::string name = "a/b+c/dry/x:1.5(2)";
  EXPECT_TRUE(std::regex_search(name, std::regex(exactly(name))));
  EXPECT_FALSE(std::regex_search("a/b+c/dry/x:105(2)", std::regex(exactly(name))));
  EXPECT_FALSE(std::regex_search(name + "/y:1", std::regex(exactly(name))));
}

}  // namespace
}  // namespace peakmark
