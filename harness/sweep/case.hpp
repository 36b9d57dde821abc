#pragma once

#include <string>
#include <string_view>

#include "sweep/description.hpp"
#include "sweep/parameters.hpp"

namespace peakmark {

/// A variant with a shape, a dtype and parameters, on a backend.
struct Case {
  std::string variant;  ///< `padding/coords1d`
  std::string backend;  ///< `opencl`, `cuda`, `dry`; `auto` until a device is known
  Parameters parameters;

  friend bool operator==(const Case&, const Case&) = default;
};

/// `padding/coords1d/opencl/mode:wrap/n:24/ny:511`: axes in the variant's order, those at their default (of
/// padding: `edge`, 20, 512) left out. Values hold no `/` or `:` (UsageError).
std::string case_name(const Case& sweep_case, const VariantDescription& variant);

/// The same with every axis, in the order of the parameters: `padding/coords1d/opencl/mode:edge/n:20/…`.
std::string full_case_name(const Case& sweep_case);

/// The inverse of both; axes may stand in any order, and at their default. Throws UsageError that says what
/// is wrong and suggests the nearest variant, backend, axis or word.
Case parse_case(std::string_view name, const Description& description);

}  // namespace peakmark
