#pragma once

#include "worker/variant.hpp"

namespace peakmark {

/// The whole of a worker program but its variants: describes them, answers for their estimators, or measures
/// cases, each a Google Benchmark benchmark. Returns the exit code; throws nothing. `--help` tells the
/// options; docs/formats.md the protocol with the supervisor.
int peakmark_worker_main(int argc, char** argv, const Registry& registry);

}  // namespace peakmark
