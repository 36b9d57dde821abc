#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "kernels/operations.hpp"
#include "measure/device/dry/dry_device.hpp"
#include "measure/sweep/choose_shapes.hpp"
#include "measure/sweep/suite.hpp"
#include "measure/worker/trial.hpp"
#include "measure/worker/worker_services.hpp"

namespace peakmark {
namespace {

const Registry& operations() {
  static const Registry registry = [] {
    Registry all;
    add_operations(all);
    return all;
  }();
  return registry;
}

std::filesystem::path shipped(const std::string& name) {
  return std::filesystem::path(PEAKMARK_SUITES) / (name + ".toml");
}

Suite load(const std::vector<std::string>& names, const ExpandOptions& options = {}) {
  std::vector<std::filesystem::path> files;
  files.reserve(names.size());
  for (const std::string& name : names) files.push_back(shipped(name));
  return load_suites(files, operations().describe(), options);
}

Suite load(const std::string& name, const ExpandOptions& options = {}) {
  return load(std::vector<std::string>{name}, options);
}

std::set<std::string> variants_of(const Suite& suite) {
  std::set<std::string> variants;
  for (const PlannedCase& planned : suite.cases) variants.insert(planned.sweep_case.variant);
  return variants;
}

std::set<std::string> all_variants() {
  std::set<std::string> names;
  for (const RegisteredVariant& variant : operations().variants()) names.insert(variant.description.name);
  return names;
}

Size slices_of(const PlannedCase& planned) {
  const RegisteredVariant* variant = operations().find(planned.sweep_case.variant);
  return planned.sweep_case.parameters.integer(variant->description.slice_axis);
}

TEST(ShippedSuites, HaveTheSizesThatTheyPromise) {
  EXPECT_LE(load("smoke").cases.size(), 25U);
  EXPECT_GE(load("nightly").cases.size(), 200U);
  EXPECT_LE(load("nightly").cases.size(), 450U);
  EXPECT_LE(load("large").cases.size(), 60U);
  EXPECT_LE(load("fbp-large").cases.size(), 80U);
}

/// Listing the cases of clients needs no device and no environment.
TEST(ShippedSuites, OfClientsExpand) {
  const std::map<std::string, std::size_t> cases{{"nabu", 92},          {"nabu-own-estimators", 12},
                                                 {"pyclesperanto", 52}, {"httomolibgpu", 54},
                                                 {"cupy", 22},          {"torch", 20}};
  for (const auto& [name, count] : cases) {
    const Suite suite = load("clients/" + name);
    EXPECT_EQ(suite.name, name);
    EXPECT_EQ(suite.cases.size(), count) << name;
    for (const PlannedCase& planned : suite.cases)
      EXPECT_NE(suite.vocabulary.program(planned.sweep_case.variant), nullptr) << planned.name;
  }
}

Observation record_sequence(const SweepCase& sweep_case) {
  const std::unique_ptr<DryDevice> device = open_dry();
  TrialOptions options;
  options.sequences = true;
  Trial trial(*device, &device->allocation_log(), *operations().find(sweep_case.variant), sweep_case, "case",
              options);
  trial.measure_memory();
  return trial.observation();
}

TEST(ShippedSuites, TheSequenceOfEachCaseHasItsPeak) {
  ExpandOptions dry;
  dry.backend = "dry";
  int sequences = 0;
  for (const char* const name : {"smallest", "smoke", "nightly", "large", "fbp-large", "one-image"}) {
    for (const PlannedCase& planned : load(name, dry).cases) {
      const Observation observation = record_sequence(planned.sweep_case);
      if (observation.outcome != Outcome::ok) continue;
      ASSERT_TRUE(observation.allocation_sequence) << planned.name << ": " << observation.message;
      ASSERT_EQ(peak_bytes(*observation.allocation_sequence), observation.requested_peak_bytes)
          << planned.name;
      ASSERT_EQ(observation.message, "") << planned.name;
      ++sequences;
    }
  }
  EXPECT_GT(sequences, 250);
}

TEST(ShippedSuites, ShapesCanBeChosenForEveryVariant) {
  const std::unique_ptr<DryDevice> dry = open_dry();
  for (const RegisteredVariant& variant : operations().variants()) {
    const VariantDescription& description = variant.description;
    std::vector<Parameters> sets = word_sets(description);
    sets.resize(std::min<std::size_t>(sets.size(), 4));
    for (const Parameters& words : sets) {
      ShapeChooser chooser(description, words);
      const auto accepts = [&](const Parameters& shape) {
        if (mistake_in(variant, shape, *dry)) return false;
        const Observation observation = record_sequence({description.name, "dry", shape});
        if (observation.outcome != Outcome::ok) return false;
        EXPECT_EQ(peak_bytes(observation.allocation_sequence.value()), observation.requested_peak_bytes);
        return true;
      };
      chooser.find_base([&](const std::vector<Parameters>& shapes) {
        std::vector<bool> is_accepted;
        for (const Parameters& one : shapes) is_accepted.push_back(!mistake_in(variant, one, *dry));
        return is_accepted;
      });
      const auto base = std::ranges::find_if(chooser.bases(), accepts);
      if (base == chooser.bases().end()) {  // a library that is not installed: cuFFT
        EXPECT_EQ(words.find("fft") == nullptr ? "" : words.word("fft"), "cufft") << description.name;
        continue;
      }
      chooser.set_base(*base);
      const ShapeCounts counts = shape_counts(description, false);
      std::size_t fitted = 1;
      std::size_t held_out = 0;
      for (int i = 0; i < 200 && fitted < counts.fitted; ++i) {
        const auto shape = chooser.next_fitted();
        if (!shape) break;
        if (!accepts(*shape)) continue;
        chooser.accept(*shape);
        ++fitted;
      }
      for (int i = 0; i < 200 && held_out < counts.held_out; ++i) {
        const auto shape = chooser.next_held_out();
        if (!shape) break;
        held_out += accepts(*shape) ? 1 : 0;
      }
      EXPECT_EQ(fitted, counts.fitted) << description.name;
      EXPECT_EQ(held_out, counts.held_out) << description.name;
    }
  }
}

TEST(ShippedSuites, ShareNoCase) {
  const std::vector<std::string> names{"smoke", "nightly", "large", "fbp-large", "one-image"};
  std::size_t each = 0;
  for (const std::string& name : names) each += load(name).cases.size();
  EXPECT_EQ(load(names).cases.size(), each);
}

TEST(ShippedSuites, HaveEveryVariant) {
  for (const char* name : {"smallest", "smoke", "nightly"})
    EXPECT_EQ(variants_of(load(name)), all_variants()) << name;
  EXPECT_EQ(variants_of(load(std::vector<std::string>{"large", "fbp-large"})), all_variants());
}

TEST(ShippedSuites, NightlyHasEveryWordOfEveryAxis) {
  const Suite suite = load("nightly");
  std::map<std::string, std::set<std::string>> seen;
  for (const PlannedCase& planned : suite.cases) {
    for (const char* axis : {"mode", "shift"}) {
      if (planned.sweep_case.parameters.find(axis) != nullptr) {
        seen[planned.sweep_case.variant + " " + axis].insert(planned.sweep_case.parameters.word(axis));
      }
    }
  }
  for (const RegisteredVariant& variant : operations().variants()) {
    for (const char* axis : {"mode", "shift"}) {
      const AxisDescription* described = variant.description.axis(axis);
      if (described == nullptr) continue;
      EXPECT_THAT(seen[variant.description.name + " " + axis],
                  testing::UnorderedElementsAreArray(described->choices))
          << variant.description.name;
    }
  }
}

TEST(ShippedSuites, NightlyHasTwentySlicesOrOne) {
  std::set<std::string> batches_of_one;
  for (const PlannedCase& planned : load("nightly").cases) {
    if (slices_of(planned) == 1) {
      batches_of_one.insert(planned.sweep_case.variant);
    } else {
      EXPECT_GE(slices_of(planned), 20) << planned.name;
    }
  }
  EXPECT_EQ(batches_of_one, all_variants());
}

TEST(ShippedSuites, CasesOfLargeNeedMoreThan32Bits) {
  for (const PlannedCase& planned : load("large").cases) {
    const RegisteredVariant* variant = operations().find(planned.sweep_case.variant);
    const Size bytes = variant->estimators.front().bytes(planned.sweep_case.parameters, slices_of(planned));
    EXPECT_GT(bytes, Size{1} << 32) << planned.name;
    EXPECT_LT(bytes, 140'000'000'000) << planned.name;
  }
}

/// Computes the numbers of the README's picture from the sizes of the arrays: an f32 image, the padded image
/// with four times as many pixels, and the coordinates of its pixels (int32 rows and columns: images,
/// vectors, or none).
TEST(ShippedSuites, OneImageNeeds52Or20BytesAPixel) {
  const std::unique_ptr<DryDevice> device = open_dry({});
  device->set_event_source(&device->allocation_log());
  const Suite suite = load("one-image", {"dry", "dry"});
  EXPECT_EQ(suite.cases.size(), 24U);
  for (const PlannedCase& planned : suite.cases) {
    const RegisteredVariant& variant = *operations().find(planned.sweep_case.variant);
    Trial trial(*device, &device->allocation_log(), variant, planned.sweep_case, planned.name, {});
    trial.measure_memory();
    const Size ny = planned.sweep_case.parameters.integer("ny");
    const std::map<std::string, Size> expected{{"padding/coords2d", 52 * ny * ny},
                                               {"padding/coords1d", 20 * ny * ny + 16 * ny},
                                               {"padding/computed", 20 * ny * ny}};
    EXPECT_EQ(trial.observation().requested_peak_bytes, expected.at(planned.sweep_case.variant))
        << planned.name;
  }
}

// Every variant accepts its cases, and every estimate equals the bytes on `dry`.
class ShippedSuiteOnDry : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(ShippedSuiteOnDry, IsEstimatedExactly) {
  const auto [name, is_cpu] = GetParam();
  const std::unique_ptr<DryDevice> device = open_dry({.is_cpu = is_cpu});
  device->set_event_source(&device->allocation_log());
  for (const PlannedCase& planned : load(name, {"dry", "dry"}).cases) {
    const RegisteredVariant& variant = *operations().find(planned.sweep_case.variant);
    Trial trial(*device, &device->allocation_log(), variant, planned.sweep_case, planned.name, {});
    trial.measure_memory();
    trial.ask_estimators();
    const Observation& observation = trial.observation();
    if (planned.expected_outcome != "ok") {
      EXPECT_EQ(to_string(observation.outcome), planned.expected_outcome) << planned.name;
      continue;
    }
    ASSERT_EQ(observation.outcome, Outcome::ok) << planned.name << ": " << observation.message;
    ASSERT_TRUE(observation.estimate && observation.requested_peak_bytes) << planned.name;
    EXPECT_EQ(observation.estimate->error, std::nullopt) << planned.name;
    EXPECT_EQ(observation.estimate->bytes_estimated, observation.requested_peak_bytes) << planned.name;
    EXPECT_EQ(observation.estimate->slices_estimated, slices_of(planned)) << planned.name;
    EXPECT_EQ(observation.leaked_bytes, 0) << planned.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShippedSuiteOnDry,
                         testing::Combine(testing::Values("smallest", "smoke", "nightly", "large",
                                                          "fbp-large", "one-image"),
                                          testing::Bool()),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param);
                           std::ranges::replace(name, '-', '_');
                           return name + (std::get<1>(info.param) ? "_cpu" : "_gpu");
                         });

/// `peakmark list` reports sizes that overflow 64 bits, before a trial does.
TEST(ShippedOperations, EverySizeThatDoesNotFitIsAMistakeOfItsCase) {
  const std::unique_ptr<DryDevice> dry = open_dry();
  for (const RegisteredVariant& variant : operations().variants()) {
    for (const AxisDescription& axis : variant.description.axes) {
      if (!std::holds_alternative<Size>(axis.default_value)) continue;
      if (axis.name == "chunk") continue;  // a max number of slices; more slices than exist are allowed
      Parameters parameters = variant.description.defaults();
      EXPECT_EQ(mistake_in(variant, parameters, *dry), std::nullopt);
      parameters.set(axis.name, Size{1} << 60);
      EXPECT_NE(mistake_in(variant, parameters, *dry), std::nullopt)
          << variant.description.name << " " << axis.name;
    }
  }
}

}  // namespace
}  // namespace peakmark
