#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "measure/sweep/nearest_word.hpp"
#include "measure/worker/variant.hpp"

namespace peakmark {

namespace {

/// Returns the backends that the worker was built with. `dry` needs nothing and is always available.
std::vector<std::string> built_backends() {
  std::vector<std::string> backends;
#ifdef PEAKMARK_HAS_OPENCL
  backends.emplace_back(to_string(Backend::opencl));
#endif
#ifdef PEAKMARK_HAS_CUDA
  backends.emplace_back(to_string(Backend::cuda));
#endif
  backends.emplace_back(to_string(Backend::dry));
  return backends;
}

std::vector<std::string> usable_backends(const VariantDescription& variant) {
  std::vector<std::string> backends = built_backends();
  if (!variant.backends.empty()) {
    std::erase_if(backends, [&](const std::string& backend) {
      return std::find(variant.backends.begin(), variant.backends.end(), backend) == variant.backends.end();
    });
  }
  return backends;
}

void check_slice_axis(const VariantDescription& variant) {
  if (variant.slice_axis.empty()) return;
  const AxisDescription* const axis = variant.axis(variant.slice_axis);
  if (axis == nullptr) {
    throw UsageError(fmt::format("variant {}: its slice axis '{}' is not one of its axes{}", variant.name,
                                 variant.slice_axis, suggest_word(variant.slice_axis, variant.axis_names())));
  }
  if (!std::holds_alternative<Size>(axis->default_value)) {
    throw UsageError(
        fmt::format("variant {}: slice axis '{}' is not an integer axis; use one, such as {{\"n\", 20}}",
                    variant.name, variant.slice_axis));
  }
}

}  // namespace

void Registry::add(RegisteredVariant variant) {
  const std::string& name = variant.description.name;
  if (find(name) != nullptr) {
    throw UsageError(fmt::format("variant {} is registered twice; give one of them another name", name));
  }
  if (!variant.estimators.empty() && variant.description.slice_axis.empty()) {
    throw UsageError(fmt::format(
        "variant {} has an estimator and no slice_axis: name the integer axis along which it counts slices",
        name));
  }
  check_slice_axis(variant.description);
  variant.description.backends = usable_backends(variant.description);
  variants_.push_back(std::move(variant));
}

void Registry::add_own(std::span<const peakmark_variant* const> variants) {
  for (const peakmark_variant* abi : variants) {
    RegisteredVariant variant(*abi);
    variant.is_own_operation = true;
    add(std::move(variant));
  }
}

const RegisteredVariant* Registry::find(std::string_view name) const {
  const auto found = std::find_if(variants_.begin(), variants_.end(), [&](const RegisteredVariant& variant) {
    return variant.description.name == name;
  });
  return found == variants_.end() ? nullptr : &*found;
}

Registry Registry::labelled(const std::string& label) const {
  Registry registry = *this;
  for (RegisteredVariant& variant : registry.variants_) variant.description.name += "." + label;
  return registry;
}

Description Registry::describe() const {
  Description description;
  for (const RegisteredVariant& variant : variants_) description.variants.push_back(variant.description);
  return description;
}

}  // namespace peakmark
