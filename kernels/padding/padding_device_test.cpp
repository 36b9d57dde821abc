#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kernels/common/case_testing.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/padding/computation.hpp"
#include "kernels/padding/padding_testing.hpp"

namespace peakmark {
namespace {

using Make = std::unique_ptr<PaddingComputation> (*)(Device&, PaddingProblem, KernelGrain);
constexpr KernelGrain kGrains[] = {KernelGrain::rows, KernelGrain::streamed_rows, KernelGrain::elements};

/// One device for all tests, since each device would load the compiled kernels again. It is closed before the
/// process unloads its driver.
class OneDevice final : public testing::Environment {
 public:
  void TearDown() override { opened_.reset(); }
  Device& get() {
    if (!opened_) opened_.emplace(testing_variants::open_tested(testing_variants::Grain::cpu));
    return **opened_;
  }

 private:
  std::optional<testing_variants::TestDevice> opened_;
};

/// GoogleTest owns and deletes it.
OneDevice* const one_device = dynamic_cast<OneDevice*>(testing::AddGlobalTestEnvironment(new OneDevice));

Device& device() {
  return one_device->get();
}

std::string compute_and_verify(PaddingComputation& computation) {
  computation.set_up();
  computation.create_inputs();
  computation.create_outputs();
  computation.call();
  computation.call();
  device().finish();
  return computation.verify();
}

struct MakeParameter {
  std::string name;
  Make make;
};

class PaddingOnDevice : public testing::TestWithParam<std::tuple<MakeParameter, std::string>> {
 protected:
  void expect_right(const PaddingProblem& problem) {
    for (const KernelGrain grain : kGrains) {
      EXPECT_EQ(compute_and_verify(*std::get<0>(GetParam()).make(device(), problem, grain)), "")
          << " of " << problem.input_shape().text() << " to " << problem.output_shape().text() << " in grain "
          << static_cast<int>(grain);
    }
  }
  PaddingProblem drawn(const std::string& dtype, std::uint64_t seed) {
    return padding_problem(make_case(drawn_parameters(std::get<1>(GetParam()), dtype, seed)));
  }
};

INSTANTIATE_TEST_SUITE_P(Variants, PaddingOnDevice,
                         testing::Combine(testing::Values(MakeParameter{"coords2d", make_coords2d},
                                                          MakeParameter{"coords1d", make_coords1d},
                                                          MakeParameter{"computed", make_computed}),
                                          testing::ValuesIn(padding_mode_names())),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" + std::get<1>(info.param);
                         });

TEST_P(PaddingOnDevice, DrawnPadsGiveTheReferenceBitByBit) {
  for (const std::string dtype : {"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"})
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(fmt::format("{} {}", dtype, seed));
      expect_right(drawn(dtype, seed));
    }
}

TEST_P(PaddingOnDevice, OutputsLargerThanCachesToo) {
  for (const std::string dtype : {"u8", "u16", "f32", "f64"}) {
    SCOPED_TRACE(dtype);
    PaddingProblem problem = drawn(dtype, 1);
    const Size scale = Size{3} * 8 / size_of(problem.dtype);
    problem.n = 1;
    problem.y = {251 * scale, 137, 1009};
    problem.x = {509, 1601, 31};
    if (problem.mode == PaddingMode::custom)
      for (const auto& [axis, coordinates] :
           {std::pair(problem.y, &problem.rows), std::pair(problem.x, &problem.columns)}) {
        coordinates->clear();
        // Neighbours upward, then downward, then neither.
        for (Size i = 0; i < axis.padded(); ++i)
          coordinates->push_back((i < 300 ? i : i < 600 ? 599 - i : i * i) % axis.extent);
      }
    expect_right(problem);
  }
}

TEST_P(PaddingOnDevice, AxesOfOneElement) {
  for (const auto& [y, x] : {std::pair(PaddedAxis{1, 3, 40}, PaddedAxis{1, 70, 5}),
                             std::pair(PaddedAxis{1, 0, 2}, PaddedAxis{37, 1, 90}),
                             std::pair(PaddedAxis{19, 41, 0}, PaddedAxis{1, 2, 1}),
                             std::pair(PaddedAxis{1, 0, 0}, PaddedAxis{1, 0, 0})}) {
    PaddingProblem problem;
    problem.mode = parse_padding_mode(std::get<1>(GetParam()));
    problem.n = 3;
    problem.y = y;
    problem.x = x;
    if (problem.mode == PaddingMode::custom) {
      problem.rows.assign(static_cast<std::size_t>(y.padded()), y.extent - 1);
      problem.columns.assign(static_cast<std::size_t>(x.padded()), x.extent - 1);
    }
    expect_right(problem);
  }
}

// CUDA allows at most 65,535 groups in y and z, so items process further rows and images in steps.
TEST_P(PaddingOnDevice, MoreSlicesAndRowsThanGroups) {
  // The template of coords2d is copied once per slice, so it has no steps over slices to test.
  const bool by_template =
      std::get<1>(GetParam()) == "constant" && std::get<0>(GetParam()).name == "coords2d";
  PaddingProblem problem;
  problem.dtype = DType::u8;
  problem.mode = parse_padding_mode(std::get<1>(GetParam()));
  problem.n = by_template ? 5 : 65'535 + 3;
  problem.y = {1, 1, 0};
  problem.x = {2, 0, 1};
  const auto set_custom = [&problem] {
    if (problem.mode != PaddingMode::custom) return;
    problem.rows.assign(static_cast<std::size_t>(problem.y.padded()), problem.y.extent - 1);
    problem.columns.assign(static_cast<std::size_t>(problem.x.padded()), 1);
  };
  set_custom();
  expect_right(problem);
  problem.n = 1;
  problem.y = {Size{2} * 65'535, 5, 9};
  set_custom();
  expect_right(problem);
}

TEST(PaddingVerification, FindsOneWrongElementAndReportsWhere) {
  PaddingProblem problem;
  problem.n = 2;
  problem.y = {3, 1, 2};
  problem.x = {5, 0, 4};
  const auto computation = make_computed(device(), problem, KernelGrain::rows);
  ASSERT_EQ(compute_and_verify(*computation), "");
  computation->output().fill_part(1 * 6 * 9 + 4 * 9 + 7, 1, 42.0);
  EXPECT_THAT(computation->verify(), testing::StartsWith("padding edge: output[1, 4, 7] is 42 instead of "));
}

TEST(PaddingVerification, OfALargeOutputFindsAWrongBorder) {
  PaddingProblem problem;
  problem.dtype = DType::u8;
  problem.n = 4;
  problem.y = {4096, 17, 19};
  problem.x = {4096, 5, 7};
  const auto computation = make_computed(device(), problem, KernelGrain::rows);
  ASSERT_EQ(compute_and_verify(*computation), "");
  const Size last_image_row = (3 * problem.y.padded() + 17 + 4096 - 1) * problem.x.padded();
  const auto right = computation->output().read<std::uint8_t>()[static_cast<std::size_t>(last_image_row)];
  computation->output().fill_part(last_image_row, 1, right == 0 ? 1 : 0);
  EXPECT_NE(computation->verify(), "");
}

}  // namespace
}  // namespace peakmark
