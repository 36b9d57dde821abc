#include "measure/supervise/run_context.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/files_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Optional;

TEST(RunContext, IdsSortByTimeAndDiffer) {
  EXPECT_THAT(make_run_id(), MatchesRegex("[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}"));
  EXPECT_NE(make_run_id(), make_run_id());
}

TEST(RunContext, HoldsWhatWasChosen) {
  Selection selection;
  selection.device.backend = Backend::cuda;
  selection.device.name = "H200";
  selection.device.driver = "580";
  selection.device.version = "9.0";
  selection.device.memory_bytes = 1 << 20;
  selection.device.max_allocation_bytes = 1 << 18;
  selection.suite.name = "nightly";
  selection.suite.fingerprint = "ff";
  selection.planned.resize(3);
  selection.shard = Shard{1, 2};
  Description description;
  description.worker = "bench 1";
  description.build = "Release";
  description.commit = "0123";
  ::setenv("POCL_MEMORY_LIMIT", "8", 1);
  const RunContext context = make_run_context(selection, description, true);
  ::unsetenv("POCL_MEMORY_LIMIT");
  EXPECT_EQ(context.backend, "cuda");
  EXPECT_EQ(context.device, "H200");
  EXPECT_EQ(context.device_memory_bytes, 1 << 20);
  EXPECT_EQ(context.largest_allocation_bytes, 1 << 18);
  EXPECT_EQ(context.planned.size(), 3u);
  EXPECT_EQ(context.shard->count, 2);
  EXPECT_EQ(context.commit, "0123");
  EXPECT_TRUE(context.memory_only);
  EXPECT_THAT(context.date, MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"));
  EXPECT_EQ(context.environment.at("POCL_MEMORY_LIMIT"), "8");
  EXPECT_EQ(context.environment.at("device version"), "9.0");
  EXPECT_THAT(context.environment.at("kernel"), HasSubstr("Linux"));
}

TEST(RunContext, SuitesAreNamedFromTheRootOfTheirRepository) {
  const TemporaryFolder folder;
  const std::filesystem::path project = folder.path() / "project";
  std::filesystem::create_directories(project / ".git");
  std::filesystem::create_directories(project / "suites" / "deep");
  std::filesystem::create_directories(folder.path() / "elsewhere");
  std::filesystem::create_directory_symlink(project / "suites", folder.path() / "elsewhere" / "linked");
  Selection selection;
  EXPECT_EQ(make_run_context(selection, {}, true).suite_files, std::nullopt) << "no suites";
  selection.suite.files = {project / "a.toml", project / "suites" / "deep" / ".." / "b.toml",
                           folder.path() / "elsewhere" / "linked" / "c.toml",
                           folder.path() / "elsewhere" / "d.toml"};
  EXPECT_THAT(make_run_context(selection, {}, true).suite_files,
              Optional(ElementsAre("a.toml", "suites/b.toml", "suites/c.toml", "d.toml")));
  std::filesystem::remove(project / ".git");
  std::ofstream(project / ".git") << "gitdir: of a worktree or a submodule\n";
  selection.suite.files = {project / "suites" / "b.toml"};
  EXPECT_THAT(make_run_context(selection, {}, true).suite_files, Optional(ElementsAre("suites/b.toml")));
}

TEST(RunContext, UnknownVariablesAndPathsAreNotCopied) {
  const std::map<std::string, std::string> set{{"NVIDIA_API_KEY", "nvapi-secret"},
                                               {"CUDA_HOME", "/home/ada/cuda"},
                                               {"POCL_CACHE_DIR", "/home/ada/.cache"},
                                               {"OPENCL_TOKEN", "secret"},
                                               {"CUDA_VISIBLE_DEVICES", "1"}};
  for (const auto& [name, value] : set) ::setenv(name.c_str(), value.c_str(), 1);
  const auto environment = measurement_environment();
  for (const auto& [name, value] : set) ::unsetenv(name.c_str());
  EXPECT_EQ(environment.at("CUDA_VISIBLE_DEVICES"), "1");
  for (const char* const name : {"NVIDIA_API_KEY", "CUDA_HOME", "POCL_CACHE_DIR", "OPENCL_TOKEN"}) {
    EXPECT_FALSE(environment.contains(name)) << name;
  }
}

TEST(RunContext, ClocksAreThoseOfTheGpuMeasuredOn) {
  DeviceInfo device;
  device.backend = Backend::cuda;
  device.name = "H200";
  MachineFacts facts;
  facts.nvml = NvmlFacts{"580", {GpuFacts{}}};
  GpuFacts& gpu = facts.nvml->gpus[0];
  gpu.name = "H200";
  gpu.sm_clock_mhz = 345;
  gpu.memory_clock_mhz = 3201;
  RunContext context;
  add_machine_facts(context, facts, device);
  EXPECT_EQ(context.clocks, (Clocks{345, std::nullopt, 3201, std::nullopt}));
  RunContext elsewhere;
  device.name = "another";
  add_machine_facts(elsewhere, facts, device);
  EXPECT_EQ(elsewhere.clocks, Clocks{});
}

TEST(RunContext, ReferenceTimesMoreThanFivePercentApartAreReported) {
  EXPECT_THAT(reference_warning({1000, 1049, {}, {}}), IsEmpty());
  EXPECT_THAT(reference_warning({1000, 951, {}, {}}), IsEmpty());
  EXPECT_THAT(reference_warning({1000, 1060, {}, {}}),
              AllOf(HasSubstr("from 1 us to 1.06 us"), HasSubstr("+6.0 %")));
  EXPECT_THAT(reference_warning({1000, 900, {}, {}}), HasSubstr("-10.0 %"));
  EXPECT_THAT(reference_warning({std::nullopt, 900, {}, {}}), IsEmpty());
  EXPECT_THAT(reference_warning({1000, std::nullopt, {}, {}}), IsEmpty());
}

}  // namespace
}  // namespace peakmark
