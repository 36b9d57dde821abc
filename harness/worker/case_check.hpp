#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "worker/variant.hpp"

namespace peakmark {

/// What is wrong with a case whatever the device: sizes that do not fit 64 bits, a region outside its image.
/// Null where nothing is; what one device cannot do or hold is for a trial to find out. `dry`: a dry device,
/// on which the case is made.
std::optional<std::string> mistake_in(const Variant& variant, const Parameters& parameters, Device& dry);

/// `WORKER --check`: to each case name on a line of `names` a line {"case", "error"}, null where it is right.
void serve_checks(const Registry& registry, std::istream& names, std::ostream& answers);

}  // namespace peakmark
