#pragma once

#include <optional>

#include "runfile/run_journal.hpp"
#include "supervise/external_estimates.hpp"
#include "supervise/supervisor.hpp"

namespace peakmark {

/// Asks the external estimators of the cases that are measured, when nothing is measured any more: their work
/// would disturb the times. Each answer stands in the journal as it comes. One that the limits keep from
/// answering stays `not_asked`, and --resume asks it. Says on standard error how far it is.
Stop ask_estimators(RunJournal& journal, const Vocabulary& vocabulary, const AskLimits& limits);

}  // namespace peakmark
