#include <cufft.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "kernels/common/arrays.hpp"
#include "kernels/fft/cuda_libraries.hpp"
#include "kernels/fft/fft_bytes.hpp"
#include "kernels/fft/fft_libraries.hpp"

namespace peakmark {
namespace {

#define PEAKMARK_CUFFT_FUNCTIONS(X) \
  X(cufftCreate)                    \
  X(cufftDestroy)                   \
  X(cufftExecC2R)                   \
  X(cufftExecR2C)                   \
  X(cufftMakePlanMany64)            \
  X(cufftSetAutoAllocation)         \
  X(cufftSetStream)                 \
  X(cufftSetWorkArea)

struct CufftApi {
#define PEAKMARK_CUFFT_MEMBER(name)                                       \
  decltype(&::name) name = nullptr; /* NOLINT(bugprone-macro-parentheses) \
                                     */
  PEAKMARK_CUFFT_FUNCTIONS(PEAKMARK_CUFFT_MEMBER)
#undef PEAKMARK_CUFFT_MEMBER
};

/// Throws Unsupported if the library is not installed.
const CufftApi& cufft() {
  static const CufftApi api = [] {
    void* library = open_cuda_library(fmt::format("libcufft.so.{}", CUFFT_VER_MAJOR));
    CufftApi loaded;
#define PEAKMARK_CUFFT_LOOK_UP(name) \
  loaded.name = reinterpret_cast<decltype(&::name)>(function_of_library(library, #name));
    PEAKMARK_CUFFT_FUNCTIONS(PEAKMARK_CUFFT_LOOK_UP)
#undef PEAKMARK_CUFFT_LOOK_UP
    return loaded;
  }();
  return api;
}

void check_cufft(cufftResult result, const char* what, Size length) {
  if (result == CUFFT_SUCCESS) return;
  const std::string message =
      fmt::format("cuFFT could not {} at length {} (its code {})", what, length, static_cast<int>(result));
  if (result == CUFFT_ALLOC_FAILED) throw OutOfMemory(message);
  if (result == CUFFT_INVALID_SIZE || result == CUFFT_NOT_SUPPORTED) throw Unsupported(message);
  throw MeasurementError(message);
}

/// A plan for one direction and one number of lines, without its work area.
class Plan {
 public:
  Plan(const FftPlan& plan, Size lines, cufftType type, cudaStream_t stream) : length_(plan.length) {
    check_cufft(cufft().cufftCreate(&handle_), "begin a plan", length_);
    try {
      check_cufft(cufft().cufftSetAutoAllocation(handle_, 0), "leave the work area to us", length_);
      long long length = plan.length;
      const long long spectrum = plan.length / 2 + 1;
      const long long reals = plan.in_place ? 2 * spectrum : plan.length;
      long long from = type == CUFFT_R2C ? reals : spectrum;
      long long to = type == CUFFT_R2C ? spectrum : reals;
      check_cufft(cufft().cufftMakePlanMany64(handle_, 1, &length, &from, 1, from, &to, 1, to, type, lines,
                                              &work_bytes_),
                  "make a plan", length_);
      check_cufft(cufft().cufftSetStream(handle_, stream), "take a stream", length_);
    } catch (...) {
      cufft().cufftDestroy(handle_);
      throw;
    }
  }
  ~Plan() { cufft().cufftDestroy(handle_); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  [[nodiscard]] Size work_bytes() const { return static_cast<Size>(work_bytes_); }
  void set_work(void* work) {
    check_cufft(cufft().cufftSetWorkArea(handle_, work), "take a work area", length_);
  }
  void forward(float* reals, cufftComplex* spectra) {
    check_cufft(cufft().cufftExecR2C(handle_, reals, spectra), "transform", length_);
  }
  void backward(cufftComplex* spectra, float* reals) {
    check_cufft(cufft().cufftExecC2R(handle_, spectra, reals), "transform back", length_);
  }

 private:
  Size length_;
  cufftHandle handle_ = 0;
  std::size_t work_bytes_ = 0;
};

/// The plans for both directions, for one number of lines.
struct Plans {
  Plans(const FftPlan& plan, Size lines, cudaStream_t stream)
      : forward(plan, lines, CUFFT_R2C, stream), backward(plan, lines, CUFFT_C2R, stream) {}
  [[nodiscard]] Size work_bytes() const { return std::max(forward.work_bytes(), backward.work_bytes()); }
  void set_work(void* work) {
    forward.set_work(work);
    backward.set_work(work);
  }
  Plan forward, backward;
};

class CufftFft final : public RealFft {
 public:
  CufftFft(Device& device, const FftPlan& plan) : plan_(plan), lines_at_a_time_(plan.lines) {
    cudaStream_t stream = device.cuda_stream();
    plans_.emplace(plan, lines_at_a_time_, stream);
    const Size most = cufft_work_bytes(plan);
    while (plans_->work_bytes() > most && lines_at_a_time_ > 1) {
      // Reduced in proportion, and halved if that is not enough.
      const double share = static_cast<double>(most) / static_cast<double>(plans_->work_bytes());
      const auto fewer = static_cast<Size>(static_cast<double>(lines_at_a_time_) * share);
      lines_at_a_time_ = std::clamp<Size>(fewer, 1, std::max<Size>(1, lines_at_a_time_ / 2));
      plans_.emplace(plan, lines_at_a_time_, stream);
    }
    // Its size is known without the library, so that an estimate is exact on every GPU.
    Size work = std::max(most, plans_->work_bytes());
    // A backward transform may overwrite its input, so no line is transformed twice: the remaining lines have
    // their own plans.
    if (const Size rest = plan.lines % lines_at_a_time_; rest > 0) {
      rest_.emplace(plan, rest, stream);
      work = std::max(work, rest_->work_bytes());
    }
    work_ = create_uninitialised(device, "fft_work", {work}, DType::u8);
    void* address = work_.cuda();
    plans_->set_work(address);
    if (rest_) rest_->set_work(address);
  }

  void forward(DeviceArray& reals, DeviceArray& spectra, Size first) override {
    for_each_part(first, [&](Plans& plans, Size line) {
      plans.forward.forward(real_line(reals, line), spectrum_line(spectra, line));
    });
  }
  void backward(DeviceArray& spectra, DeviceArray& reals, Size first) override {
    for_each_part(first, [&](Plans& plans, Size line) {
      plans.backward.backward(spectrum_line(spectra, line), real_line(reals, line));
    });
  }

  [[nodiscard]] Size table_bytes() const override { return 0; }
  [[nodiscard]] Size work_bytes() const override { return work_.bytes(); }

 private:
  template <typename Use>
  void for_each_part(Size first, Use&& use) {
    for (Size done = 0; done < plan_.lines; done += lines_at_a_time_)
      use(plan_.lines - done < lines_at_a_time_ ? *rest_ : *plans_, first + done);
  }
  [[nodiscard]] float* real_line(const DeviceArray& reals, Size line) const {
    return static_cast<float*>(reals.cuda()) +
           checked_multiply(line, plan_.in_place ? plan_.length + 2 : plan_.length);
  }
  [[nodiscard]] cufftComplex* spectrum_line(const DeviceArray& spectra, Size line) const {
    return static_cast<cufftComplex*>(spectra.cuda()) + checked_multiply(line, plan_.length / 2 + 1);
  }

  FftPlan plan_;
  Size lines_at_a_time_;
  std::optional<Plans> plans_, rest_;
  DeviceArray work_;
};

}  // namespace

std::unique_ptr<RealFft> make_cufft(Device& device, const FftPlan& plan) {
  return std::make_unique<CufftFft>(device, plan);
}

}  // namespace peakmark
