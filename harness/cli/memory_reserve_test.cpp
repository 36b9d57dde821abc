// Tests of the reserve that `--budget free` leaves, measured on PoCL under a layer that makes it look like a
// small GPU.
#include <nlohmann/json.hpp>

#include "cli/command_testing.hpp"
#include "cli/tests/small_device_layer.hpp"

namespace peakmark {
namespace {

using namespace small_device;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The bytes of the small device that a process cannot allocate: its context, and fragments that no
/// allocation can use.
constexpr std::int64_t kReserve = kContextBytes + kFragmentationBytes;
/// The bytes that a process finds free while the command has the device open.
constexpr std::int64_t kFree = kMemoryBytes - kContextBytes;

class SmallDevice : public CommandTest {
 protected:
  SmallDevice() {
    environment_ = {"CUDA_VISIBLE_DEVICES=", "OPENCL_LAYERS=" PEAKMARK_SMALL_DEVICE_LAYER,
                    "SMALL_DEVICE=" + (folder_.path() / "device").string(),
                    "TMPDIR=" + folder_.path().string(), "XDG_RUNTIME_DIR="};
  }

  json probe() const {
    const Answer answer = peakmark({"doctor", "--probe", "--json"});
    EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
    return json::parse(answer.output).at("probed").at(0);
  }
  Answer fit(const std::string& budget) const {
    // The peak is 8 bytes · n · 1024 · 1024.
    return peakmark({"fit", "padding/computed", "n", "ny=1024", "nx=1024", "pad_y0=0", "pad_y1=0", "pad_x0=0",
                     "pad_x1=0", "--worker", PEAKMARK_BENCH, "--backend", "opencl", "--budget", budget,
                     "--json"});
  }
  std::filesystem::path kept_file() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (entry.path().filename().string().starts_with("reserve-")) return entry.path();
    }
    return {};
  }
};

TEST_F(SmallDevice, HasTheReserveThatAProcessCannotAllocate) {
  const json probed = probe();
  EXPECT_EQ(probed["memory_bytes"], kMemoryBytes);
  EXPECT_EQ(probed["largest_allocation_bytes"], kMaxAllocationBytes);
  EXPECT_EQ(probed["free_bytes"], kFree);
  EXPECT_EQ(probed["allocatable_bytes"], kFree - kReserve);
  EXPECT_EQ(probed["reserve"], (json{{"bytes", kReserve},
                                     {"context_bytes", kContextBytes},
                                     {"library_bytes", nullptr},
                                     {"fragmentation_bytes", kFragmentationBytes}}));
  EXPECT_THAT(peakmark({"doctor", "--probe"}).output,
              AllOf(HasSubstr("`--budget free` leaves 16 MiB, measured on 20"),
                    HasSubstr("(context 10 MiB, fragmentation 6 MiB)")));
}

TEST_F(SmallDevice, FitsWhatIsFreeLessTheReserve) {
  const Answer answer = fit("free");
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const json found = json::parse(answer.output);
  EXPECT_EQ(found["budget_bytes"], kFree - kReserve);
  EXPECT_EQ(found["value"], (kFree - kReserve) / (8 * kMiB));
  EXPECT_EQ(found["out_of_memory"], 0);
  EXPECT_THAT(found["notes"].at(0).get<std::string>(),
              AllOf(HasSubstr("246 MiB of "), HasSubstr("are free, less a reserve of 16 MiB, measured on 20"),
                    HasSubstr("(context 10 MiB, fragmentation 6 MiB)")));

  // Without the reserve, the device refuses a shape that was predicted to fit.
  const json whole = json::parse(fit("free-1KiB").output);
  EXPECT_EQ(whole["budget_bytes"], kFree - 1024);
  EXPECT_EQ(whole["trials"].at(0)["value"], (kFree - 1024) / (8 * kMiB));
  EXPECT_EQ(whole["trials"].at(0)["outcome"], "out_of_memory");
}

TEST_F(SmallDevice, IsMeasuredOnceForEachDriver) {
  const std::string measuring = "measuring how much of the free memory of ";
  const auto budget = [&] {
    const Answer answer = peakmark({"devices", "--json", "--budget", "free"});
    EXPECT_EQ(json::parse(answer.output)["devices"][0]["budget_bytes"], kFree - kReserve) << answer.errors;
    return answer.errors;
  };
  EXPECT_THAT(budget(), HasSubstr(measuring));
  EXPECT_THAT(budget(), Not(HasSubstr(measuring)));
  json kept = json::parse(std::ifstream(kept_file()));
  kept["of"]["driver"] = "another";
  std::ofstream(kept_file()) << kept.dump();
  EXPECT_THAT(budget(), HasSubstr(measuring));
  std::ofstream(kept_file()) << "{";
  EXPECT_THAT(budget(), HasSubstr(measuring));
  // doctor measures the reserve again.
  kept["of"]["driver"] = json::parse(std::ifstream(kept_file()))["of"]["driver"];
  kept["allocatable_bytes"] = 1;
  std::ofstream(kept_file()) << kept.dump();
  probe();
  EXPECT_THAT(budget(), Not(HasSubstr(measuring)));
}

TEST_F(SmallDevice, WithoutTheLayerWhatIsFreeIsUnknown) {
  environment_ = {"CUDA_VISIBLE_DEVICES=", "POCL_MEMORY_LIMIT=1", "TMPDIR=" + folder_.path().string(),
                  "XDG_RUNTIME_DIR="};
  const json probed = probe();
  EXPECT_TRUE(probed["free_bytes"].is_null());
  for (const auto& [key, bytes] : probed["reserve"].items()) EXPECT_TRUE(bytes.is_null()) << key;
  EXPECT_GE(probed["allocatable_bytes"], probed["largest_allocation_bytes"]);
  EXPECT_LE(probed["allocatable_bytes"], probed["memory_bytes"]);
  EXPECT_EQ(kept_file(), std::filesystem::path());
  const Answer answer = fit("free");
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("is unknown: write bytes"));
}

}  // namespace
}  // namespace peakmark
