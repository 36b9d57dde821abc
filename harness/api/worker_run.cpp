#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <span>

#include "base/error.hpp"
#include "measure/worker/variant.hpp"
#include "measure/worker/worker_main.hpp"
#include "peakmark/worker_abi.h"

static_assert(PEAKMARK_API_MAJOR == peakmark::Description::kApiMajor);

namespace peakmark {
namespace {

void check_version(const peakmark_worker& worker) {
  if (worker.api_major == PEAKMARK_API_MAJOR && worker.api_minor <= PEAKMARK_API_MINOR) return;
  throw UsageError(
      fmt::format("it was compiled against version {}.{} of peakmark's API, and the libpeakmark-worker that "
                  "it has loaded is of {}.{}; compile it anew against the peakmark that is installed, or let "
                  "it find the library it was built against (LD_LIBRARY_PATH)",
                  worker.api_major, worker.api_minor, PEAKMARK_API_MAJOR, PEAKMARK_API_MINOR));
}

WorkerProgram program_of(const peakmark_worker& worker, const std::string& file_name) {
  WorkerProgram program;
  program.name = worker.name == nullptr ? file_name : worker.name;
  program.build = worker.build == nullptr ? "" : worker.build;
  program.commit = worker.commit == nullptr ? "" : worker.commit;
  program.api = fmt::format("{}.{}", worker.api_major, worker.api_minor);
  return program;
}

}  // namespace
}  // namespace peakmark

int peakmark_worker_run(const peakmark_worker* worker, int argc, char** argv) {
  using namespace peakmark;
  const std::string file_name = std::filesystem::path(argv[0]).filename().string();
  try {
    check_version(*worker);
    Registry registry;
    for (const peakmark_variant* variant : std::span(worker->variants, worker->variant_count)) {
      registry.add(RegisteredVariant(*variant));
    }
    if (registry.variants().empty()) throw UsageError("it has no variants: add() one to its Worker");
    return peakmark_worker_main(argc, argv, registry, program_of(*worker, file_name));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", file_name.c_str(), final_message(error).c_str());
    return static_cast<int>(exit_code_of(error));
  }
}
