/// A worker of peakmark: a program that measures variants of your own. This is all that it includes: no
/// device's headers, no JSON, no Google Benchmark. docs/own-kernels.md begins with a program of 30 lines;
/// docs/api.md is these headers as one page.
///
/// A variant says its axes, and how to make one case of it: a Computation, a class of yours, or Steps, a
/// handful of lambdas. peakmark calls the steps in order, records what they allocate on the device, verifies,
/// and times `call`.
#pragma once

#include "peakmark/worker/case.hpp"
#include "peakmark/worker/device.hpp"
#include "peakmark/worker/program.hpp"
#include "peakmark/worker/variant.hpp"
