#include "worker/case_check.hpp"

#include <exception>
#include <istream>
#include <ostream>

#include "base/error.hpp"
#include "device/dry/dry_device.hpp"
#include "runfile/json_fields.hpp"
#include "sweep/description.hpp"

namespace peakmark {

std::optional<Size> estimated_bytes(const Variant& variant, const Parameters& parameters) {
  if (variant.estimators.empty() || variant.is_of_a_program) return std::nullopt;
  try {
    return variant.estimators.front()->bytes(variant.request(parameters),
                                             parameters.integer(variant.description.slice_axis));
  } catch (const OverflowError&) {
    throw;
  } catch (const std::exception&) {
    return std::nullopt;  // why it does not answer is reported with the case
  }
}

std::optional<CaseMistake> mistake_in(const Variant& variant, const Parameters& parameters, Device& dry) {
  try {
    variant.make(dry, parameters);
    // `make` allocates nothing, and so sees what is in the parameters only; the formula has every term.
    static_cast<void>(estimated_bytes(variant, parameters));
  } catch (const OverflowError& error) {
    return CaseMistake{error.what() + largest_axis_note(parameters)};
  } catch (const WorkerMistake& error) {
    return CaseMistake{error.what(), true};
  } catch (const UsageError& error) {
    return CaseMistake{error.what()};
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
    std::optional<CaseMistake> mistake;
    try {
      const Case sweep_case = parse_case(name, description);
      mistake = mistake_in(*registry.find(sweep_case.variant), sweep_case.parameters, *dry);
    } catch (const UsageError& error) {
      mistake = CaseMistake{error.what()};
    }
    json_fields::Json answer{{"case", name}, {"error", nullptr}};
    if (mistake) answer["error"] = mistake->text;
    if (mistake && mistake->of_worker) answer["of_worker"] = true;
    answers << json_fields::one_line(answer) << '\n' << std::flush;
  }
}

}  // namespace peakmark
