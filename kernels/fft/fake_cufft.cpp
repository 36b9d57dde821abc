#include "kernels/fft/fake_cufft.hpp"

#include <cufft.h>

#include <complex>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "kernels/fft/host_fft.hpp"

namespace {

using Complex = std::complex<double>;

struct Plan {
  bool allocates = true;
  long long length = 0, lines = 0, from_pitch = 0, to_pitch = 0;
  std::size_t work_bytes = 0;
  void* work = nullptr;
};

std::map<cufftHandle, Plan> plans;
peakmark::fake_cufft::Wants wants = [](long long, long long) -> std::size_t { return 0; };
cufftResult answer = CUFFT_SUCCESS;

/// Returns null if the plan may not run.
const Plan* running(cufftHandle handle) {
  const auto found = plans.find(handle);
  if (found == plans.end() || (found->second.work_bytes > 0 && found->second.work == nullptr)) return nullptr;
  if (found->second.work != nullptr) std::memset(found->second.work, 0xa5, found->second.work_bytes);
  return &found->second;
}

}  // namespace

namespace peakmark::fake_cufft {

void set_wants(Wants value) {
  wants = value;
}
void set_answer(int value) {
  answer = static_cast<cufftResult>(value);
}
std::size_t live_plans() {
  return plans.size();
}

}  // namespace peakmark::fake_cufft

extern "C" {

cufftResult cufftCreate(cufftHandle* handle) {
  static int made = 0;
  *handle = ++made;
  plans[*handle] = {};
  return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle) {
  return plans.erase(handle) == 1 ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int allocates) {
  plans.at(handle).allocates = allocates != 0;
  return CUFFT_SUCCESS;
}

cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long* n, long long* /*inembed*/,
                                long long istride, long long idist, long long* /*onembed*/, long long ostride,
                                long long odist, cufftType /*type*/, long long batch, std::size_t* bytes) {
  if (answer != CUFFT_SUCCESS) return answer;
  Plan& plan = plans.at(handle);
  if (plan.allocates || rank != 1 || istride != 1 || ostride != 1) return CUFFT_NOT_SUPPORTED;
  plan.length = n[0];
  plan.lines = batch;
  plan.from_pitch = idist;
  plan.to_pitch = odist;
  *bytes = plan.work_bytes = wants(n[0], batch);
  return CUFFT_SUCCESS;
}

cufftResult cufftSetStream(cufftHandle /*handle*/, cudaStream_t /*stream*/) {
  return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle handle, void* work) {
  plans.at(handle).work = work;
  return CUFFT_SUCCESS;
}

cufftResult cufftExecR2C(cufftHandle handle, cufftReal* reals, cufftComplex* spectra) {
  const Plan* plan = running(handle);
  if (plan == nullptr) return CUFFT_EXEC_FAILED;
  for (long long line = 0; line < plan->lines; ++line) {
    const cufftReal* from = reals + line * plan->from_pitch;
    const std::vector<Complex> spectrum = peakmark::host_fft(std::vector<Complex>(from, from + plan->length));
    cufftComplex* to = spectra + line * plan->to_pitch;
    for (long long k = 0; k <= plan->length / 2; ++k)
      to[k] = {static_cast<float>(spectrum[static_cast<std::size_t>(k)].real()),
               static_cast<float>(spectrum[static_cast<std::size_t>(k)].imag())};
  }
  return CUFFT_SUCCESS;
}

cufftResult cufftExecC2R(cufftHandle handle, cufftComplex* spectra, cufftReal* reals) {
  const Plan* plan = running(handle);
  if (plan == nullptr) return CUFFT_EXEC_FAILED;
  constexpr float kDestroyed = std::numeric_limits<float>::quiet_NaN();
  for (long long line = 0; line < plan->lines; ++line) {
    cufftComplex* from = spectra + line * plan->from_pitch;
    std::vector<Complex> spectrum(static_cast<std::size_t>(plan->length));
    for (long long k = 0; k <= plan->length / 2; ++k) {
      const Complex value(from[k].x, from[k].y);
      spectrum[static_cast<std::size_t>((plan->length - k) % plan->length)] = std::conj(value);
      spectrum[static_cast<std::size_t>(k)] = value;
      from[k] = {kDestroyed, kDestroyed};
    }
    const std::vector<Complex> values = peakmark::host_fft(spectrum, true);
    cufftReal* to = reals + line * plan->to_pitch;
    for (long long i = 0; i < plan->length; ++i)
      to[i] = static_cast<float>(values[static_cast<std::size_t>(i)].real());
  }
  return CUFFT_SUCCESS;
}

}  // extern "C"
