/// A worker is a program that measures variants of your own. This header is all that it includes: it needs no
/// headers of a device, no JSON library and no Google Benchmark. docs/own-kernels.md begins with a program of
/// 30 lines; docs/api.md shows these headers on one page.
///
/// A variant describes its axes and how to make one case: a class derived from Computation, or Steps, a few
/// lambdas. peakmark calls the steps in order, records what they allocate on the device, verifies the result,
/// and times `call`.
#pragma once

#include "peakmark/worker/case.hpp"
#include "peakmark/worker/device.hpp"
#include "peakmark/worker/kernel.hpp"
#include "peakmark/worker/program.hpp"
#include "peakmark/worker/variant.hpp"
