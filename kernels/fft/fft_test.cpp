#include "kernels/fft/fft.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "kernels/common/seeded.hpp"
#include "kernels/fft/fft_bytes.hpp"
#include "kernels/fft/host_fft.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

class Fft : public testing::Test {
 protected:
  /// Lines [first, first + lines) of arrays that hold more, there and back, against the host's transform.
  void expect_right(const FftPlan& plan, Size first = 0) {
    const Size n = plan.length;
    const Size pitch = n + 2;
    const Size rows = std::max(plan.lines, plan.array_lines);
    const Size real_pitch = plan.in_place ? pitch : n;
    const auto fft = make_real_fft(*device_, FftLibrary::vkfft, plan);
    EXPECT_EQ(fft->table_bytes(), vkfft_table_bytes(n)) << n;
    EXPECT_EQ(fft->work_bytes(), vkfft_work_bytes(plan)) << n;
    Array reals = device_->push<float>("reals", {rows, real_pitch}, seeded_generator<float>(1));
    Array apart = device_->create("spectra", {plan.in_place ? 0 : rows, pitch}, DType::f32);
    Array& spectra = plan.in_place ? reals : apart;
    const std::vector<float> before = device_->pull<float>(reals);

    fft->forward(reals, spectra, first);
    const std::vector<float> transformed = device_->pull<float>(spectra);
    for (Size line = first; line < first + plan.lines; ++line) {
      std::vector<std::complex<double>> values(static_cast<std::size_t>(n));
      for (Size i = 0; i < n; ++i) values[i] = before[line * real_pitch + i];
      const std::vector<std::complex<double>> expected = host_fft(values);
      double wrong = 0;
      double all = 0;
      for (Size k = 0; k <= n / 2; ++k) {
        const std::complex<double> actual(transformed[line * pitch + 2 * k],
                                          transformed[line * pitch + 2 * k + 1]);
        wrong += std::norm(actual - expected[k]);
        all += std::norm(expected[k]);
      }
      EXPECT_LE(std::sqrt(wrong / all), 5e-7) << "length " << n << ", line " << line;
    }

    fft->backward(spectra, reals, first);
    const std::vector<float> after = device_->pull<float>(reals);
    double largest = 0;
    for (Size line = 0; line < rows; ++line) {
      const bool touched = line >= first && line < first + plan.lines;
      for (Size i = 0; i < n; ++i) {
        const Size at = line * real_pitch + i;
        const double expected = before[at] * (touched ? static_cast<double>(n) : 1.0);
        largest =
            std::max(largest, std::abs(after[at] - expected) / (touched ? static_cast<double>(n) : 1.0));
      }
    }
    EXPECT_LE(largest, 2e-6) << "length " << n;
  }

  std::unique_ptr<Device> device_ =
      open_device(choose_device({.backend = Backend::opencl, .device = {}}, list_devices()));
};

TEST_F(Fft, InPlaceIsTheHostsTransform) {
  expect_right({.length = 4, .lines = 3});
  expect_right({.length = 420, .lines = 4});
  expect_right({.length = 420, .lines = 3, .array_lines = 5}, 2);
}

TEST_F(Fft, BetweenTwoArraysIsTheHostsTransform) {
  expect_right({.length = 420, .lines = 5, .in_place = false});
  expect_right({.length = 420, .lines = 3, .array_lines = 7, .in_place = false}, 1);
}

TEST_F(Fft, InSeveralPassesIsTheHostsTransform) {
  expect_right({.length = 8640, .lines = 2, .array_lines = 5}, 3);
  expect_right({.length = 8640, .lines = 3, .array_lines = 4, .in_place = false}, 1);
}

TEST_F(Fft, WorksInTheMemoryItMay) {
  // Room for two lines at a time: the third call does line 3 again.
  expect_right({.length = 8640, .lines = 5, .in_place = false, .most_work_bytes = 80'000});
  expect_right({.length = 8640, .lines = 2, .in_place = false, .most_work_bytes = 1});
}

TEST_F(Fft, TheTablesAreThoseThatWereRecorded) {
  // Read off a byte recorder beside plans of another program.
  for (const auto& [length, bytes] : {std::pair<Size, Size>{1024, 5824}, {1500, 11'960}, {4096, 14'016}})
    EXPECT_EQ(vkfft_table_bytes(length), bytes) << length;
}

TEST_F(Fft, SaysWhatItCannotDo) {
  const auto message = [&](FftLibrary library, Size length) -> std::string {
    try {
      make_real_fft(*device_, library, {.length = length});
    } catch (const Unsupported& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_THAT(message(FftLibrary::vkfft, 9973), HasSubstr("length 9973; peakmark transforms even lengths"));
  EXPECT_THAT(message(FftLibrary::vkfft, 22), HasSubstr("without prime factors beyond 7"));
  EXPECT_THAT(message(FftLibrary::vkfft, 525), HasSubstr("even lengths"));
  if (device_->info().platform == "Portable Computing Language") {
    EXPECT_THAT(message(FftLibrary::vkfft, 524'288), HasSubstr("beyond 262144"));
  }
}

}  // namespace
}  // namespace peakmark
