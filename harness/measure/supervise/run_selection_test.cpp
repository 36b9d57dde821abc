#include "measure/supervise/run_selection.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "base/error.hpp"
#include "base/files_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DeviceInfo device(Backend backend, const std::string& name, bool is_cpu) {
  DeviceInfo info;
  info.backend = backend;
  info.name = name;
  info.is_cpu = is_cpu;
  return info;
}

DeviceList list(const std::vector<DeviceInfo>& devices) {
  DeviceList list{devices, {"cuda: no driver"}};
  list.devices.push_back(device(Backend::dry, "dry", true));
  return list;
}

Description description() {
  VariantDescription variant;
  variant.name = "fake/case";
  variant.backends = {"opencl", "cuda", "dry"};
  variant.axes = {{"n", Size{1}, {}, 0, "a number"}};
  variant.slice_axis = "n";
  Description description;
  description.variants = {variant};
  return description;
}

class RunSelection : public testing::Test {
 protected:
  SelectionOptions suite(const std::string& backend_line) const {
    std::ofstream(path_) << "[[sweep]]\nvariants = \"fake/case\"\n"
                         << backend_line << "\naxes.n = [1, 2, 3]\n";
    SelectionOptions options;
    options.suites = {path_};
    return options;
  }
  static std::vector<std::string> names(const Selection& selection) {
    std::vector<std::string> names;
    for (const PlannedCase& planned : selection.planned) names.push_back(planned.name);
    return names;
  }
  template <typename Exception>
  static std::string error_of(const SelectionOptions& options, const DeviceList& devices) {
    try {
      select(options, description(), devices);
    } catch (const Exception& error) {
      return error.what();
    }
    return "no error";
  }

  const TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "a.toml";
  const DeviceList cpu_ = list({device(Backend::opencl, "pocl", true)});
  const DeviceList gpu_ = list({device(Backend::cuda, "H200", false), device(Backend::opencl, "pocl", true)});
  const DeviceList none_ = list({});
};

TEST_F(RunSelection, TheDeviceResolvesTheBackend) {
  EXPECT_THAT(names(select(suite(""), description(), cpu_)),
              ElementsAre("fake/case/opencl", "fake/case/opencl/n:2", "fake/case/opencl/n:3"));
  EXPECT_EQ(names(select(suite(""), description(), gpu_)).front(), "fake/case/cuda");
}

TEST_F(RunSelection, FilterThenShard) {
  SelectionOptions options = suite("");
  options.filter = "n:[23]$";
  EXPECT_THAT(names(select(options, description(), cpu_)),
              ElementsAre("fake/case/opencl/n:2", "fake/case/opencl/n:3"));
  options.shard = "2/2";
  EXPECT_THAT(names(select(options, description(), cpu_)), ElementsAre("fake/case/opencl/n:3"));
  options.shard = "3/3";
  EXPECT_THAT(names(select(options, description(), cpu_)), IsEmpty()) << "there are fewer cases than parts";
  options.shard = "3/2";
  EXPECT_NE(error_of<UsageError>(options, cpu_), "no error");
  options.shard.reset();
  options.filter = "n:[";
  EXPECT_THAT(error_of<UsageError>(options, cpu_), HasSubstr("not a regular expression"));
  options.filter = "n:4";
  EXPECT_THAT(error_of<UsageError>(options, cpu_),
              AllOf(HasSubstr("leaves none of the 3 cases"), HasSubstr("list SUITE --full-names"),
                    HasSubstr("peakmark list SUITE")));
}

TEST_F(RunSelection, NoDeviceIsAnErrorUnlessAllIsDry) {
  EXPECT_NE(error_of<DeviceError>(suite(""), none_), "no error");
  SelectionOptions options = suite("");
  options.backend = "dry";
  EXPECT_EQ(select(options, description(), none_).device.backend, Backend::dry);
  EXPECT_EQ(select(options, description(), gpu_).device.backend, Backend::dry);
  EXPECT_EQ(select(suite("backend = [\"dry\"]"), description(), none_).device.backend, Backend::dry);
}

TEST_F(RunSelection, WhatIsRequiredIsNamed) {
  SelectionOptions options = suite("");
  options.require = "gpu";
  EXPECT_THAT(error_of<DeviceError>(options, cpu_),
              AllOf(HasSubstr("--require gpu"), HasSubstr("pocl"), HasSubstr("no driver")));
  EXPECT_EQ(select(options, description(), gpu_).device.name, "H200");
  options.require = "cuda";
  EXPECT_THAT(error_of<DeviceError>(options, cpu_), HasSubstr("no CUDA device"));
  EXPECT_EQ(select(options, description(), gpu_).device.name, "H200");
  options.backend = "dry";
  EXPECT_THAT(error_of<DeviceError>(options, gpu_), HasSubstr("no CUDA device"));
  options.backend = "nonsense";
  EXPECT_NE(error_of<UsageError>(options, gpu_), "no error");
}

TEST_F(RunSelection, CasesOfAnotherBackendAreReported) {
  PlannedCase planned;
  planned.sweep_case.backend = "cuda";
  EXPECT_TRUE(is_of_another_backend(planned, device(Backend::opencl, "pocl", true)));
  planned.sweep_case.backend = "opencl";
  EXPECT_FALSE(is_of_another_backend(planned, device(Backend::opencl, "pocl", true)));
  planned.sweep_case.backend = "dry";
  EXPECT_FALSE(is_of_another_backend(planned, device(Backend::opencl, "pocl", true)));
}

TEST_F(RunSelection, AFilterFindsAxesAtTheirDefault) {
  const DeviceList devices = list({});
  SelectionOptions options = suite("backend = \"dry\"");
  options.filter = "n:1";
  EXPECT_THAT(names(select(options, description(), devices)), ElementsAre("fake/case/dry"))
      << "by its full name, and stored by its own";
  options.filter = "^fake/case/dry$";
  EXPECT_THAT(names(select(options, description(), devices)), ElementsAre("fake/case/dry"))
      << "the name alone, as `run` prints it to repeat a case";
  options.filter = "n:[12]$";
  EXPECT_THAT(names(select(options, description(), devices)),
              ElementsAre("fake/case/dry", "fake/case/dry/n:2"));
}

}  // namespace
}  // namespace peakmark
