#include "worker/case_check.hpp"

#include <exception>
#include <istream>
#include <ostream>

#include "base/error.hpp"
#include "device/dry/dry_device.hpp"
#include "run/json_fields.hpp"
#include "sweep/case.hpp"

namespace peakmark {

std::optional<std::string> mistake_in(const Variant& variant, const Parameters& parameters, Device& dry) {
  try {
    variant.make(dry, parameters);
  } catch (const OverflowError& error) {
    return error.what() + largest_axis_note(parameters);
  } catch (const UsageError& error) {
    return error.what();
  } catch (const std::exception&) {
    // OutOfMemory, Unsupported, a host without the memory: an outcome of the case.
  }
  return std::nullopt;
}

void serve_checks(const Registry& registry, std::istream& names, std::ostream& answers) {
  const std::unique_ptr<DryDevice> dry = open_dry();
  const Description description = registry.describe();
  std::string name;
  while (std::getline(names, name)) {
    if (name.empty()) continue;
    std::optional<std::string> mistake;
    try {
      const Case the_case = parse_case(name, description);
      mistake = mistake_in(*registry.find(the_case.variant), the_case.parameters, *dry);
    } catch (const UsageError& error) {
      mistake = error.what();
    }
    answers << json_fields::one_line({{"case", name}, {"error", json_fields::or_null(mistake)}}) << '\n';
  }
  answers << std::flush;
}

}  // namespace peakmark
