#include "base/device_name.hpp"

#include "base/pattern.hpp"

namespace peakmark {

std::string device_key(const std::string& name) {
  static const Pattern pocl("(?:pthread|cpu)-(.+)");
  // LLVM's names of processors have no upper case; the system's names of models begin with the maker's name
  // or, such as `12th Gen Intel(R) Core(TM)`, with a generation.
  static const Pattern with_model("[a-z0-9_.+-]+?-((?:[0-9]+th Gen )?[A-Z].*)");
  const auto cpu = pocl.groups(name);
  if (!cpu) return name;
  const std::string& rest = *cpu->at(1);
  const auto model = with_model.groups(rest);
  return "cpu-" + (model ? *model->at(1) : rest);
}

}  // namespace peakmark
