// The libFuzzer program: peakmark_fuzz --target=NAME [options of libFuzzer] CORPUS…
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "fuzz/fuzz_targets.hpp"

namespace {
const peakmark::FuzzTarget* target = nullptr;
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view kOption = "--target=";
  for (int i = 1; i < *count; ++i) {
    const std::string_view argument = (*arguments)[i];
    if (!argument.starts_with(kOption)) continue;
    const auto targets = peakmark::fuzz_targets();
    const auto found =
        std::ranges::find(targets, argument.substr(kOption.size()), &peakmark::FuzzTarget::name);
    if (found != targets.end()) target = &*found;
  }
  if (target == nullptr) {
    std::fputs("peakmark_fuzz: unknown target; --target= is one of:", stderr);
    for (const peakmark::FuzzTarget& one : peakmark::fuzz_targets()) {
      std::fprintf(stderr, " %.*s", static_cast<int>(one.name.size()), one.name.data());
    }
    std::fputs("\n", stderr);
    std::exit(2);
  }
  return 0;
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // The form is the same each time that an input is read.
  target->read(input, static_cast<unsigned>(std::hash<std::string_view>()(input) % peakmark::kFuzzForms));
  return 0;
}
