// A variant as a struct of the C ABI. Nothing here is for programs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "peakmark/worker/abi_calls.hpp"
#include "peakmark/worker/device.hpp"
#include "peakmark/worker/variant.hpp"
#include "peakmark/worker_abi.h"

namespace peakmark {
inline namespace api_1 {
namespace detail {

using MakeComputation = std::function<std::unique_ptr<Computation>(Device&, const Case&)>;

/// A Computation that calls the lambdas of Steps.
class StepsComputation final : public Computation {
 public:
  explicit StepsComputation(Steps steps) : steps_(std::move(steps)) {
    if (!steps_.call) throw std::invalid_argument("its Steps have no `call`");
    if (!steps_.verify)
      throw std::invalid_argument(
          "its Steps have no `verify`: times of an unverified result are not reported");
  }
  void set_up() override { call_if_set(steps_.set_up); }
  void create_inputs() override { call_if_set(steps_.create_inputs); }
  void create_outputs() override { call_if_set(steps_.create_outputs); }
  void call() override { steps_.call(); }
  void restore_inputs() override { call_if_set(steps_.restore_inputs); }
  std::string verify() override { return steps_.verify(); }
  [[nodiscard]] std::optional<Size> bytes_moved() const override { return steps_.bytes_moved; }
  [[nodiscard]] std::optional<double> flops() const override { return steps_.flops; }
  [[nodiscard]] std::vector<Metric> metrics() override {
    return steps_.metrics ? steps_.metrics() : std::vector<Metric>();
  }

 private:
  static void call_if_set(const std::function<void()>& step) {
    if (step) step();
  }
  Steps steps_;
};

/// A case and its device, which must outlive what the case allocates on it.
struct MadeCase {
  explicit MadeCase(const peakmark_device& abi) : device(abi) {}
  Device device;
  std::unique_ptr<Computation> computation;
};

/// A variant, and the C struct that points into it.
class HeldVariant {
 public:
  HeldVariant(Variant variant, MakeComputation make) : variant_(std::move(variant)), make_(std::move(make)) {
    view_axes();
    view();
  }
  HeldVariant(const HeldVariant&) = delete;
  HeldVariant& operator=(const HeldVariant&) = delete;

  [[nodiscard]] const peakmark_variant* abi() const { return &abi_; }

 private:
  void view_axes() {
    for (const Axis& axis : variant_.axes) {
      std::vector<const char*>& choices = choices_.emplace_back();
      for (const std::string& choice : axis.choices) choices.push_back(choice.c_str());
      peakmark_axis abi{};
      abi.name = axis.name.c_str();
      if (const auto* const word = std::get_if<std::string>(&axis.default_value)) {
        abi.type = PEAKMARK_WORD;
        abi.default_value.word = word->c_str();
      } else if (const auto* const number = std::get_if<double>(&axis.default_value)) {
        abi.type = PEAKMARK_FLOAT;
        abi.default_value.floating = *number;
      } else {
        abi.default_value.integer = std::get<Size>(axis.default_value);
      }
      abi.minimum = axis.minimum;
      abi.choices = choices.data();
      abi.choice_count = choices.size();
      abi.help = axis.help.c_str();
      axes_.push_back(abi);
    }
  }
  void view() {
    for (const std::string& backend : variant_.backends) backends_.push_back(backend.c_str());
    for (const Estimator& estimator : variant_.estimators) estimators_.push_back(view(estimator));
    abi_.name = variant_.name.c_str();
    abi_.help = variant_.help.c_str();
    abi_.backends = backends_.data();
    abi_.backend_count = backends_.size();
    abi_.axes = axes_.data();
    abi_.axis_count = axes_.size();
    abi_.slice_axis = variant_.slice_axis.empty() ? nullptr : variant_.slice_axis.c_str();
    abi_.slice_dimension = variant_.slice_dimension;
    abi_.destroys_input = variant_.destroys_input ? 1 : 0;
    abi_.output_dtype = variant_.output_dtype.empty() ? nullptr : variant_.output_dtype.c_str();
    abi_.estimators = estimators_.data();
    abi_.estimator_count = estimators_.size();
    abi_.self = this;
    if (variant_.mistake) abi_.check = check;
    if (make_) abi_.make = make_case;
  }
  static peakmark_estimator view(const Estimator& estimator) {
    peakmark_estimator abi{};
    abi.name = estimator.name.c_str();
    abi.self = const_cast<Estimator*>(&estimator);
    if (estimator.parts) abi.parts = parts;
    if (estimator.bytes) abi.bytes = bytes;
    if (estimator.slices) abi.slices = slices;
    return abi;
  }

  // A returned text is an error of the case. An exception is an error of the program, except an overflow.
  [[nodiscard]] std::string mistake_of(const Case& asked) const {
    try {
      return variant_.mistake(asked);
    } catch (const std::invalid_argument& error) {
      throw std::runtime_error(error.what());
    }
  }

  // Functions that the library calls.

  static void check(void* self, const peakmark_case* asked, peakmark_failure* failure) {
    detail::guard(failure, [&] {
      const std::string mistake = static_cast<HeldVariant*>(self)->mistake_of(Case(*asked));
      if (!mistake.empty()) detail::note(failure, PEAKMARK_USAGE, mistake.c_str());
    });
  }
  static void make_case(void* self, const peakmark_device* device, const peakmark_case* asked,
                        peakmark_computation* made, peakmark_failure* failure) {
    detail::guard(failure, [&] {
      auto one = std::make_unique<MadeCase>(*device);
      one->computation = static_cast<HeldVariant*>(self)->make_(one->device, Case(*asked));
      *made = {one.release(), step, bytes_moved, destroy, flops, metrics};
    });
  }
  static void step(void* self, std::int32_t which, peakmark_failure* failure) {
    detail::guard(failure, [&] {
      Computation& computation = *static_cast<MadeCase*>(self)->computation;
      switch (which) {
        case PEAKMARK_SET_UP:
          return computation.set_up();
        case PEAKMARK_CREATE_INPUTS:
          return computation.create_inputs();
        case PEAKMARK_CREATE_OUTPUTS:
          return computation.create_outputs();
        case PEAKMARK_CALL:
          return computation.call();
        case PEAKMARK_RESTORE_INPUTS:
          return computation.restore_inputs();
        case PEAKMARK_VERIFY: {
          const std::string wrong = computation.verify();
          if (!wrong.empty()) detail::note(failure, PEAKMARK_WRONG_ANSWER, wrong.c_str());
          return;
        }
        default:
          throw std::logic_error("unknown step of a case: build the worker again with this peakmark");
      }
    });
  }
  static std::int64_t bytes_moved(void* self, peakmark_failure* failure) {
    std::int64_t bytes = -1;
    detail::guard(failure,
                  [&] { bytes = static_cast<MadeCase*>(self)->computation->bytes_moved().value_or(-1); });
    return bytes;
  }
  static double flops(void* self, peakmark_failure* failure) {
    double count = -1;
    detail::guard(failure, [&] { count = static_cast<MadeCase*>(self)->computation->flops().value_or(-1); });
    return count;
  }
  static void metrics(void* self,
                      void (*metric)(void* sink, const char* name, double value, std::int32_t better),
                      void* sink, peakmark_failure* failure) {
    detail::guard(failure, [&] {
      for (const Metric& one : static_cast<MadeCase*>(self)->computation->metrics())
        metric(sink, one.name.c_str(), one.value, abi_direction(one.better));
    });
  }
  static std::int32_t abi_direction(Better better) {
    if (better == Better::neither) return PEAKMARK_NEITHER;
    return better == Better::higher ? PEAKMARK_HIGHER : PEAKMARK_LOWER;
  }
  static void destroy(void* self) { delete static_cast<MadeCase*>(self); }

  static std::int64_t bytes(void* self, const peakmark_case* asked, peakmark_failure* failure) {
    std::int64_t answer = -1;
    detail::guard(failure, [&] { answer = static_cast<const Estimator*>(self)->bytes(Case(*asked)); });
    return answer;
  }
  static void parts(void* self, const peakmark_case* asked,
                    void (*part)(void* sink, const char* name, std::int64_t per_slice_bytes,
                                 std::int64_t fixed_bytes),
                    void* sink, peakmark_failure* failure) {
    detail::guard(failure, [&] {
      for (const Part& one : static_cast<const Estimator*>(self)->parts(Case(*asked)))
        part(sink, one.name.c_str(), one.per_slice_bytes, one.fixed_bytes);
    });
  }
  static std::int64_t slices(void* self, const peakmark_case* asked, std::int64_t available_bytes,
                             peakmark_failure* failure) {
    std::int64_t answer = -1;
    detail::guard(failure, [&] {
      answer = static_cast<const Estimator*>(self)->slices(Case(*asked), available_bytes);
    });
    return answer;
  }

  Variant variant_;
  MakeComputation make_;
  std::vector<const char*> backends_;
  std::vector<std::vector<const char*>> choices_;
  std::vector<peakmark_axis> axes_;
  std::vector<peakmark_estimator> estimators_;
  peakmark_variant abi_{};
};

}  // namespace detail
}  // namespace api_1
}  // namespace peakmark
