#include "measure/builds/build_comparison.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "base/files_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::Eq;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

Description description_with(std::vector<AxisDescription> axes) {
  Description description;
  VariantDescription variant;
  variant.name = "padding/old";
  variant.axes = std::move(axes);
  description.variants = {variant};
  return description;
}

PlannedCase planned(const Description& description, const std::string& name) {
  PlannedCase planned;
  planned.name = name;
  planned.sweep_case = parse_case(name, description);
  return planned;
}

std::string name_there(const std::string& name, const Description& here, const Description& there) {
  const auto known = planned_for(planned(here, name), here, there);
  return known ? known->name : "unknown";
}

const AxisDescription kN{"n", Size{20}, {}, 1, ""};
const AxisDescription kLaterN{"n", Size{30}, {}, 1, ""};
const AxisDescription kChunk{"chunk", Size{0}, {}, 0, ""};
const AxisDescription kMode{"mode", std::string("edge"), {"edge", "wrap"}, 0, ""};
const AxisDescription kEarlierMode{"mode", std::string("edge"), {"edge"}, 0, ""};

TEST(PlannedFor, IsTheSameWorkByTheNameOfTheOtherBuild) {
  const Description here = description_with({kLaterN});
  const Description there = description_with({kN});
  EXPECT_EQ(name_there("padding/old/dry", here, there), "padding/old/dry/n:30");
  EXPECT_EQ(name_there("padding/old/dry/n:20", here, there), "padding/old/dry");
}

TEST(PlannedFor, AnAxisThatTheOtherLacksMustBeAtItsDefault) {
  const Description here = description_with({kN, kChunk});
  const Description there = description_with({kN});
  EXPECT_EQ(name_there("padding/old/dry/n:4", here, there), "padding/old/dry/n:4");
  EXPECT_EQ(name_there("padding/old/dry/n:4/chunk:8", here, there), "unknown");
}

TEST(PlannedFor, WhatTheOtherCannotDoIsUnknown) {
  const Description here = description_with({kMode});
  EXPECT_EQ(name_there("padding/old/dry/mode:wrap", here, description_with({kEarlierMode})), "unknown");
  EXPECT_THAT(planned_for(planned(here, "padding/old/dry"), here, Description{}), Eq(std::nullopt));
}

TEST(FindWorkerOf, TakesTreesPrefixesAndWorkers) {
  const TemporaryFolder folder;
  EXPECT_THAT([&] { find_worker_of(folder.path()); },
              ThrowsMessage<UsageError>(
                  AllOf(HasSubstr("--build"), HasSubstr("peakmark-bench in build/prefix/bin"))));
  for (const char* place : {"bin", "bench"}) {  // a build tree is looked at first
    std::filesystem::create_directories(folder.path() / place);
    const auto worker = folder.path() / place / "peakmark-bench";
    std::ofstream(worker) << "#!/bin/sh\n";
    EXPECT_THAT([&] { find_worker_of(folder.path()); },
                ThrowsMessage<UsageError>(AllOf(StartsWith("--build " + folder.path().string() + ": "),
                                                HasSubstr("chmod +x " + worker.string()))));
    std::filesystem::permissions(worker, std::filesystem::perms::owner_all);
    EXPECT_EQ(find_worker_of(folder.path()), worker);
    EXPECT_EQ(find_worker_of(worker), worker);
  }
}

TEST(FindWorkerOf, FindsAProjectsOwnWorkerInACheckoutATreeOrAPrefix) {
  const TemporaryFolder folder;
  const auto before = folder.path() / "before";
  for (const char* const place : {"build/release", "bin"}) {
    std::filesystem::create_directories(before / place);
    const auto worker = before / place / "blur";
    std::ofstream(worker) << "#!/bin/sh\n";
    std::filesystem::permissions(worker, std::filesystem::perms::owner_all);
  }
  const auto built = before / "build/release/blur";
  for (const char* const named : {"build/release/blur", "../build/release/blur", "./build/release/blur"}) {
    EXPECT_EQ(find_worker_of(before, named, false), built) << named;
    EXPECT_EQ(find_worker_of(before / "build", named, false), built) << named;
    EXPECT_EQ(find_worker_of(before / "build/release", named, false), built) << named;
  }
  EXPECT_EQ(find_worker_of(before, "other/blur", false), before / "bin/blur") << "an install prefix";
  EXPECT_THAT([&] { find_worker_of(before, "build/other", false); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("neither build/other nor other is in this folder"),
                                              testing::Not(HasSubstr("peakmark-bench")))));
}

}  // namespace
}  // namespace peakmark
