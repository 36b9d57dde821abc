// Tests of `devices` and `doctor` on PoCL, on a machine whose OpenCL has no driver, and on one without a
// loader.
#include <nlohmann/json.hpp>

#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class DevicesCommand : public CommandTest {
 protected:
  // A GPU of the machine that runs the tests must not be seen by them.
  DevicesCommand() { environment_ = {"CUDA_VISIBLE_DEVICES="}; }

  void without_driver() { environment_.push_back("OCL_ICD_VENDORS=" + folder_.path().string()); }
  /// A file that is not a library is found before the system's loader, and cannot be loaded.
  void without_loader() {
    std::ofstream(folder_.path() / "libOpenCL.so.1") << "no library";
    environment_.push_back("LD_LIBRARY_PATH=" + folder_.path().string());
  }

  /// Adds a driver to those of the system.
  void add_driver(const std::string& name, const std::string& library) {
    const std::filesystem::path vendors = folder_.path() / "vendors";
    if (std::filesystem::create_directory(vendors)) {
      for (const std::filesystem::directory_entry& entry :
           std::filesystem::directory_iterator("/etc/OpenCL/vendors")) {
        std::filesystem::copy_file(entry.path(), vendors / entry.path().filename());
      }
      environment_.push_back("OCL_ICD_VENDORS=" + vendors.string());
    }
    std::ofstream(vendors / (name + ".icd")) << library << '\n';
  }

  json json_of(const std::string& command, int exit_code) const {
    const Answer answer = peakmark({command, "--json"});
    EXPECT_EQ(answer.end.exit_code, exit_code) << answer.errors;
    return json::parse(answer.output);
  }
  static std::vector<std::string> ids_of(const json& doctor) {
    std::vector<std::string> ids;
    for (const json& finding : doctor.at("findings")) ids.push_back(finding.at("id"));
    return ids;
  }
};

using DoctorCommand = DevicesCommand;

TEST_F(DevicesCommand, ListsWhatIsHere) {
  const Answer answer = peakmark({"devices"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.output, StartsWith("backend  index  name"));
  EXPECT_THAT(answer.output, AllOf(HasSubstr("\nopencl       0  "), HasSubstr("\ndry          0  dry")));
  EXPECT_THAT(answer.errors, StartsWith("no device found for cuda: "));
}

TEST_F(DevicesCommand, JsonHasEveryKeyAndNullForWhatIsUnknown) {
  const json devices = json_of("devices", 0).at("devices");
  ASSERT_GE(devices.size(), 2u);
  for (const json& device : devices) {
    for (const char* key :
         {"backend", "index", "name", "vendor", "platform", "driver", "version", "pci", "is_cpu", "has_f64",
          "compute_units", "memory_bytes", "max_allocation_bytes", "used_bytes", "free_bytes"}) {
      EXPECT_TRUE(device.contains(key)) << key;
    }
  }
  const json& first = devices.front();
  EXPECT_EQ(first.at("backend"), "opencl");
  EXPECT_FALSE(first.at("driver").get<std::string>().empty());
  EXPECT_GT(first.at("memory_bytes").get<std::int64_t>(), 0);
  EXPECT_GT(first.at("max_allocation_bytes").get<std::int64_t>(), 0);
  const json& dry = devices.back();
  EXPECT_EQ(dry.at("backend"), "dry");
  for (const char* key : {"driver", "pci", "memory_bytes", "free_bytes"}) {
    EXPECT_TRUE(dry.at(key).is_null()) << key;
  }
}

TEST_F(DevicesCommand, PrintsABudgetOnEachDevice) {
  const auto budgets = [&](const std::string& budget) {
    const Answer answer = peakmark({"devices", "--json", "--budget", budget});
    return json::parse(answer.output).at("devices");
  };
  const json half = budgets("50%");
  EXPECT_EQ(half.front().at("budget_bytes"), half.front().at("memory_bytes").get<std::int64_t>() / 2);
  EXPECT_TRUE(half.back().at("budget_bytes").is_null());
  EXPECT_EQ(budgets("1 KiB").back().at("budget_bytes"), 1024);
  EXPECT_THAT(peakmark({"devices", "--budget", "50%"}).output, HasSubstr("budget\n"));
  const Answer wrong = peakmark({"devices", "--budget", "half"});
  EXPECT_EQ(wrong.end.exit_code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("'half' is not a size"));
}

TEST_F(DevicesCommand, WithoutADriverThereIsDryAlone) {
  without_driver();
  const Answer answer = peakmark({"devices"});
  EXPECT_EQ(answer.end.exit_code, 4);
  EXPECT_THAT(answer.output, AllOf(HasSubstr("\ndry "), Not(HasSubstr("\nopencl "))));
  EXPECT_THAT(answer.errors, HasSubstr("no device found for opencl: no OpenCL device found"));
}

/// A home or a temporary folder may be mounted noexec. A worker on PoCL would end with SIGABRT.
TEST_F(DevicesCommand, APoclThatCannotLoadItsKernelsIsNoDevice) {
  const std::string cache = folder_.path() / "cache";
  std::filesystem::create_directory(cache);
  const std::string mount = "unshare -Urm sh -c 'mount -t tmpfs -o noexec none " + cache;
  if (std::system((mount + "' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "this system mounts no tmpfs in a user namespace";
  const std::string errors = folder_.path() / "errors";
  const std::string devices = " && CUDA_VISIBLE_DEVICES= POCL_CACHE_DIR=" + cache + "/kernels " +
                              PEAKMARK_PROGRAM " devices 2>" + errors + "'";
  EXPECT_EQ(WEXITSTATUS(std::system((mount + devices).c_str())), 4);
  EXPECT_THAT(read_text_file(errors),
              AllOf(HasSubstr("no device found for opencl, platform "), HasSubstr("mounted noexec: " + cache),
                    HasSubstr("set POCL_CACHE_DIR to")));
}

TEST_F(DevicesCommand, ADriverThatFailsIsReportedBesideOneThatWorks) {
  add_driver("missing", "/nonexistent/libdriver.so.1");
  add_driver("small", PEAKMARK_SMALL_DRIVER);
  environment_.emplace_back("SMALL_DRIVER_DEVICES_ERROR=-6");
  const std::string unloadable = "opencl, driver /nonexistent/libdriver.so.1 of " +
                                 (folder_.path() / "vendors/missing.icd").string() +
                                 ": it cannot be loaded (/nonexistent/libdriver.so.1: ";
  const std::string failing = "opencl, platform small: clGetDeviceIDs: CL_OUT_OF_HOST_MEMORY (-6); check ";
  const Answer answer = peakmark({"devices"});
  EXPECT_EQ(answer.end.exit_code, 0);
  EXPECT_THAT(answer.output, HasSubstr("\nopencl       0  "));
  EXPECT_THAT(answer.errors, AllOf(HasSubstr("no device found for " + unloadable),
                                   HasSubstr("no device found for " + failing)));
  EXPECT_THAT(peakmark({"doctor"}).output,
              AllOf(HasSubstr("[device] " + unloadable), HasSubstr("[device] " + failing)));
  EXPECT_THAT(peakmark({"run", "mul_add/whole", "--worker", PEAKMARK_BENCH, "--device", "Radeon"}).errors,
              AllOf(HasSubstr(unloadable), HasSubstr(failing)));
}

TEST_F(DevicesCommand, APoclWithoutItsCacheIsReportedBesideAnotherPlatform) {
  add_driver("small", PEAKMARK_SMALL_DRIVER);
  std::ofstream(folder_.path() / "file") << "no folder";
  environment_.push_back("POCL_CACHE_DIR=" + (folder_.path() / "file").string());
  const Answer answer = peakmark({"devices"});
  EXPECT_EQ(answer.end.exit_code, 4);
  EXPECT_THAT(answer.errors,
              AllOf(HasSubstr("no device found for opencl, platform Portable Computing Language: PoCL cannot "
                              "write its cache folder: "),
                    HasSubstr("no device found for opencl, platform small: clGetDeviceInfo, "
                              "CL_DEVICE_TYPE: CL_INVALID_DEVICE (-33)")));
  // Its permissions allow root to write there, but the file system does not.
  environment_.emplace_back("POCL_CACHE_DIR=/proc/none");
  EXPECT_THAT(peakmark({"devices"}).errors,
              AllOf(HasSubstr("no device found for opencl, platform Portable Computing Language: "),
                    HasSubstr("write its cache folder"), HasSubstr("/proc/none")));
}

TEST_F(DevicesCommand, WithoutALoaderThereIsDryAlone) {
  without_loader();
  const json answer = json_of("devices", 4);
  ASSERT_EQ(answer.at("devices").size(), 1u);
  EXPECT_EQ(answer.at("devices").at(0).at("backend"), "dry");
  EXPECT_THAT(answer.at("reasons").get<std::vector<std::string>>(),
              Contains(StartsWith("opencl: no OpenCL loader found (")));
}

TEST_F(DoctorCommand, FindsWhatDisturbsMeasurementsAndTheFix) {
  const json answer = json_of("doctor", 0);
  EXPECT_THAT(ids_of(answer), AllOf(Contains("cpu-device"), Not(Contains("no-device"))));
  for (const json& finding : answer.at("findings")) {
    EXPECT_THAT(finding.at("effect").get<std::string>(), AnyOf("device", "recording", "exactness", "timing"));
    EXPECT_THAT(finding.at("what").get<std::string>(), Not(IsEmpty()));
    EXPECT_THAT(finding.at("fix").get<std::string>(), Not(IsEmpty()));
  }
  EXPECT_GT(answer.at("facts").at("cpus").get<int>(), 0);
  EXPECT_THAT(peakmark({"doctor"}).output,
              AllOf(StartsWith("opencl 0: "), HasSubstr("[timing] CPU device: ")));
}

TEST_F(DoctorCommand, PoclWithALimitDoesNotDrift) {
  const std::vector<std::string> before = environment_;
  environment_.emplace_back("POCL_MEMORY_LIMIT=1");
  EXPECT_THAT(ids_of(json_of("doctor", 0)), Not(Contains("pocl-memory-limit")));
  environment_ = before;
  environment_.emplace_back("POCL_MEMORY_LIMIT=");
  EXPECT_THAT(ids_of(json_of("doctor", 0)), Contains("pocl-memory-limit"));
}

TEST_F(DoctorCommand, ProbesTheLargestAllocation) {
  environment_.emplace_back("POCL_MEMORY_LIMIT=1");
  const Answer answer = peakmark({"doctor", "--probe", "--json"});
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const json probed = json::parse(answer.output).at("probed");
  ASSERT_EQ(probed.size(), 1U);
  EXPECT_EQ(probed[0]["backend"], "opencl");
  EXPECT_EQ(probed[0]["memory_bytes"], Size{1} << 30);
  const auto largest = probed[0]["largest_allocation_bytes"].get<Size>();
  EXPECT_GE(largest, probed[0]["max_allocation_bytes"].get<Size>());
  EXPECT_LE(largest, Size{1} << 30);
  EXPECT_THAT(peakmark({"doctor", "--probe"}).output, HasSubstr("opencl 0: largest allocation "));
  EXPECT_FALSE(json_of("doctor", 0).contains("probed"));
}

TEST_F(DoctorCommand, WithoutADeviceItReportsHowToGetOne) {
  without_driver();
  EXPECT_EQ(ids_of(json_of("doctor", 4)).front(), "no-device");
  const Answer answer = peakmark({"doctor"});
  EXPECT_EQ(answer.end.exit_code, 4);
  EXPECT_THAT(answer.output,
              AllOf(HasSubstr("pocl-opencl-icd"), HasSubstr("opencl: no OpenCL device found")));
}

TEST_F(DoctorCommand, AMissingLoaderIsReported) {
  without_loader();
  const Answer answer = peakmark({"doctor"});
  EXPECT_EQ(answer.end.exit_code, 4);
  EXPECT_THAT(answer.output, HasSubstr("[device] opencl: no OpenCL loader"));
}

}  // namespace
}  // namespace peakmark
