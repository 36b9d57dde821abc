#include "run/repeat_command.hpp"

#include <gtest/gtest.h>

#include <regex>

namespace peakmark {
namespace {

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
      repeat_command(options, device, "mul_add/whole/opencl/n:1"),
      R"(peakmark run suites/smoke.toml 'it'\''s mine.toml' --filter '^mul_add/whole/opencl/n:1$' --device 2 )"
      "--backend opencl --worker /opt/bench --memory-only --repetitions 3 -o alone.json");
  device.backend = Backend::dry;
  options = {};
  options.selection.suites = {"a.toml"};
  EXPECT_EQ(repeat_command(options, device, "a/b/dry"),
            "peakmark run a.toml --filter '^a/b/dry$' -o alone.json");
}

TEST(RepeatCommand, TheFilterFindsExactlyTheCase) {
  const std::string name = "a/b+c/dry/x:1.5(2)";
  EXPECT_TRUE(std::regex_search(name, std::regex(exactly(name))));
  EXPECT_FALSE(std::regex_search("a/b+c/dry/x:105(2)", std::regex(exactly(name))));
  EXPECT_FALSE(std::regex_search(name + "/y:1", std::regex(exactly(name))));
}

}  // namespace
}  // namespace peakmark
