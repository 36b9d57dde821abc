#include "measure/worker/estimator.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <limits>

#include "base/bisection.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/worker/abi.hpp"

namespace peakmark {
namespace {

/// Calls an estimator's function. If the estimator forks and the child process also returns from the
/// function, the child ends here: otherwise it would continue to ask, measure and answer. A search calls
/// often, and the number of processes would double each time.
template <typename Call>
auto call_estimator(Call call) {
  struct ForkGuard {
    ~ForkGuard() {
      if (::getpid() != pid) ::_exit(0);
    }
    const pid_t pid = ::getpid();
  };
  const ForkGuard guard;
  return call_program(call);
}

Size not_negative(Size bytes, std::string_view what) {
  if (bytes < 0) throw UsageError(fmt::format("negative size of {}: {} bytes", what, bytes));
  return bytes;
}

void check_per_slice(Size bytes) {
  if (not_negative(bytes, "a slice") == 0)
    throw UsageError("0 bytes per slice, so any number of slices would fit");
}

}  // namespace

RegisteredEstimator::RegisteredEstimator(const peakmark_estimator& abi, const peakmark_variant& variant)
    : abi_(&abi), slice_axis_(variant.slice_axis == nullptr ? "" : variant.slice_axis) {
  if (abi.bytes == nullptr && abi.parts == nullptr && abi.slices == nullptr)
    throw UsageError(fmt::format("variant {}: its estimator '{}' has no formula", variant.name, abi.name));
}

std::string_view RegisteredEstimator::form() const {
  if (abi_->bytes != nullptr) return "iterative";
  return abi_->parts != nullptr ? "module" : "documented";
}

Size RegisteredEstimator::max_slices(const Parameters& parameters, Size available_bytes) const {
  if (abi_->bytes != nullptr) {
    check_per_slice(checked_subtract(bytes(parameters, 1), bytes(parameters, 0)));
    return largest([&](Size slices) {
      try {
        return bytes(parameters, slices) <= available_bytes;
      } catch (const OverflowError&) {
        return false;  // more than 2^63 bytes never fit
      }
    });
  }
  if (abi_->parts != nullptr) {
    const EstimateTerm sum = total(parameters);
    if (available_bytes < sum.fixed_bytes) return 0;
    return (available_bytes - sum.fixed_bytes) / sum.per_slice_bytes;
  }
  const AbiCase asked(parameters);
  const Size slices = call_estimator([&](peakmark_failure* failure) {
    return abi_->slices(abi_->self, asked.abi(), available_bytes, failure);
  });
  if (slices < 0) {
    throw UsageError(
        fmt::format("it answers {} slices for {} bytes of available memory; answer max(0, slices): 0 says "
                    "that not even one slice fits",
                    slices, available_bytes));
  }
  return slices;
}

Size RegisteredEstimator::bytes(const Parameters& parameters, Size slices) const {
  if (slices < 0) throw UsageError(fmt::format("negative number of slices: {}", slices));
  if (abi_->bytes != nullptr) {
    Parameters with_slices = parameters;
    with_slices.set(slice_axis_, slices);
    const AbiCase asked(with_slices);
    const Size bytes = call_estimator(
        [&](peakmark_failure* failure) { return abi_->bytes(abi_->self, asked.abi(), failure); });
    return not_negative(bytes, quantity(slices, "slice"));
  }
  if (abi_->parts != nullptr) {
    const EstimateTerm sum = total(parameters);
    return checked_add(checked_multiply(sum.per_slice_bytes, slices), sum.fixed_bytes);
  }
  const auto too_few = [&](Size available) { return max_slices(parameters, available) < slices; };
  if (!too_few(0)) return 0;
  if (too_few(std::numeric_limits<Size>::max()))
    throw UsageError(fmt::format("fewer than {} slices for any memory", slices));
  return largest(too_few) + 1;
}

std::vector<EstimateTerm> RegisteredEstimator::terms(const Parameters& parameters) const {
  std::vector<EstimateTerm> terms;
  if (abi_->parts == nullptr) return terms;
  const AbiCase asked(parameters);
  const auto add = [](void* sink, const char* name, std::int64_t per_slice_bytes, std::int64_t fixed_bytes) {
    static_cast<std::vector<EstimateTerm>*>(sink)->push_back({name, per_slice_bytes, fixed_bytes});
  };
  call_estimator(
      [&](peakmark_failure* failure) { abi_->parts(abi_->self, asked.abi(), add, &terms, failure); });
  return terms;
}

EstimateTerm RegisteredEstimator::total(const Parameters& parameters) const {
  EstimateTerm sum;
  for (const EstimateTerm& term : terms(parameters)) {
    sum.per_slice_bytes = checked_add(sum.per_slice_bytes, not_negative(term.per_slice_bytes, term.name));
    sum.fixed_bytes = checked_add(sum.fixed_bytes, not_negative(term.fixed_bytes, term.name));
  }
  check_per_slice(sum.per_slice_bytes);
  return sum;
}

}  // namespace peakmark
