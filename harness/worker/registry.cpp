#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "worker/variant.hpp"

namespace peakmark {

namespace {

/// What the worker was built with. `dry` needs nothing and is always there.
std::vector<std::string> built_backends() {
  std::vector<std::string> backends;
#ifdef PEAKMARK_HAS_OPENCL
  backends.emplace_back(name_of(Backend::opencl));
#endif
#ifdef PEAKMARK_HAS_CUDA
  backends.emplace_back(name_of(Backend::cuda));
#endif
  backends.emplace_back(name_of(Backend::dry));
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

}  // namespace

void Registry::add(Variant variant) {
  const std::string& name = variant.description.name;
  if (find(name) != nullptr) {
    throw UsageError(fmt::format("variant {} is registered twice; give one of them another name", name));
  }
  if (!variant.make) throw UsageError(fmt::format("variant {} has no `make`: it cannot be run", name));
  if (!variant.estimators.empty()) {
    if (!variant.request) {
      throw UsageError(fmt::format("variant {} has estimators but no `request` to ask them with", name));
    }
    const AxisDescription* slices = variant.description.axis(variant.description.slice_axis);
    if (slices == nullptr || !std::holds_alternative<Size>(slices->default_value)) {
      throw UsageError(fmt::format("variant {}: its slice axis '{}' is no integer axis of it", name,
                                   variant.description.slice_axis));
    }
  }
  variant.description.backends = usable_backends(variant.description);
  variant.description.estimators.clear();
  for (const auto& estimator : variant.estimators) {
    variant.description.estimators.push_back(
        {std::string(estimator->name()), std::string(estimator->form())});
  }
  variants_.push_back(std::move(variant));
}

const Variant* Registry::find(std::string_view name) const {
  const auto found = std::find_if(variants_.begin(), variants_.end(),
                                  [&](const Variant& variant) { return variant.description.name == name; });
  return found == variants_.end() ? nullptr : &*found;
}

Registry Registry::labelled(const std::string& label) const {
  Registry registry = *this;
  for (Variant& variant : registry.variants_) variant.description.name += "." + label;
  return registry;
}

Description Registry::describe() const {
  Description description;
  for (const Variant& variant : variants_) description.variants.push_back(variant.description);
  return description;
}

}  // namespace peakmark
