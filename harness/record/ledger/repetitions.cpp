#include "record/ledger/repetitions.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "record/ledger/replay.hpp"

namespace peakmark {
namespace {

/// A repetition as events [begin, end).
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct SpannedPhase {
  std::string name;
  std::vector<Span> spans;
};

/// Returns a phase with those around it: `call` and `call/fft` for `call/fft`.
std::vector<std::string> with_outer_phases(const std::string& phase) {
  std::vector<std::string> phases;
  for (std::size_t at = phase.find('/'); at != std::string::npos; at = phase.find('/', at + 1))
    phases.push_back(phase.substr(0, at));
  if (!phase.empty()) phases.push_back(phase);
  return phases;
}

bool contains(const std::vector<std::string>& phases, const std::string& phase) {
  return std::ranges::find(phases, phase) != phases.end();
}

/// Finds where phases begin and end.
class PhaseSpans {
 public:
  explicit PhaseSpans(std::span<const Event> events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].type == EventType::phase) mark(i, text_of(events, i));
    }
    for (const std::string& phase : open_) spans_of(phase).back().end = events.size();
  }

  /// Returns the repeated phases, except those that occur as often as a phase around them.
  std::vector<SpannedPhase> repeated() {
    // In the phase `tests/test_a.py`, `tests` is a folder, which the program does not mark as a phase.
    std::erase_if(phases_, [this](const SpannedPhase& one) {
      return one.spans.size() < kMinRepetitions || !marked_.contains(one.name);
    });
    std::map<std::string, std::size_t> counts;
    for (const SpannedPhase& one : phases_) counts[one.name] = one.spans.size();
    std::erase_if(phases_, [&](const SpannedPhase& one) {
      return std::ranges::any_of(with_outer_phases(one.name), [&](const std::string& outer) {
        const auto found = counts.find(outer);
        return outer != one.name && found != counts.end() && found->second == one.spans.size();
      });
    });
    return std::move(phases_);
  }

 private:
  void mark(std::size_t index, const std::string& text) {
    const std::vector<std::string> now = with_outer_phases(text);
    for (const std::string& phase : open_) {
      // If a program marks `call` twice without an end in between, these are two repetitions.
      if (!contains(now, phase) || (phase == text && phase == last_)) spans_of(phase).back().end = index;
    }
    for (const std::string& phase : now) {
      if (!contains(open_, phase) || (phase == text && phase == last_))
        spans_of(phase).push_back({index, index});
    }
    open_ = now;
    last_ = text;
    marked_.insert(text);
  }

  std::vector<Span>& spans_of(const std::string& phase) {
    const auto [place, is_new] = places_.try_emplace(phase, phases_.size());
    if (is_new) phases_.push_back({phase, {}});
    return phases_[place->second].spans;
  }

  std::vector<SpannedPhase> phases_;
  std::unordered_map<std::string, std::size_t> places_;
  std::unordered_set<std::string> marked_;
  std::vector<std::string> open_;
  std::string last_;
};

/// An allocation of a repeated phase that outlives its repetition.
struct Made {
  std::size_t phase = 0;       ///< its place among the repeated phases
  std::size_t repetition = 0;  ///< from 0
  std::size_t event = 0;
  std::size_t released = SIZE_MAX;  ///< the event; SIZE_MAX: never
};

class RepetitionObserver : public ReplayObserver {
 public:
  RepetitionObserver(std::span<const Event> events, std::vector<SpannedPhase> phases)
      : events_(events), phases_(std::move(phases)), repetitions_(phases_.size()) {}

  void allocated(std::size_t index, const LiveMemory& live) {
    if (!counts_into_peak(events_[index].kind)) return;
    for (std::size_t phase = 0; phase < phases_.size(); ++phase) {
      std::vector<Repetition>& done = repetitions_[phase];
      if (done.empty() || phases_[phase].spans[done.size() - 1].end <= index) continue;
      done.back().peak_bytes = std::max(done.back().peak_bytes, live.bytes());
    }
  }
  void released(std::size_t index, const LiveEntry& entry, const LiveMemory& /*live*/) {
    end_life(entry, index);
  }
  void named(std::size_t index, const LiveEntry& entry) { names_[entry.index] = index; }
  void other(std::size_t index, const LiveMemory& live) {
    if (events_[index].type == EventType::phase) begin_phase(index, live.bytes());
    if (events_[index].type == EventType::stack) stacks_[events_[index].address] = index;
  }

  void finish(const LiveMemory& live) {
    advance(events_.size(), live.bytes());
    live.for_each([this](const LiveEntry& entry) { end_life(entry, SIZE_MAX); });
    std::ranges::sort(made_, {}, &Made::event);
  }

  [[nodiscard]] const std::vector<SpannedPhase>& phases() const { return phases_; }
  [[nodiscard]] const std::vector<Repetition>& repetitions(std::size_t phase) const {
    return repetitions_[phase];
  }
  [[nodiscard]] const std::vector<Made>& made() const { return made_; }

  [[nodiscard]] std::string name(const Made& made) const {
    const auto found = names_.find(made.event);
    return found == names_.end() ? "" : text_of(events_, found->second);
  }
  [[nodiscard]] std::string phase(const Made& made) const {
    const Mark* const mark = mark_before(made.event);
    return mark == nullptr ? "" : text_of(events_, mark->event);
  }
  [[nodiscard]] std::string stack(const Made& made) const {
    const auto found = stacks_.find(events_[made.event].amounts.stack);
    return found == stacks_.end() ? "" : text_of(events_, found->second);
  }
  [[nodiscard]] const Event& event(const Made& made) const { return events_[made.event]; }

 private:
  struct Mark {
    std::size_t event = 0;
    std::size_t owner = SIZE_MAX;  ///< the repeated phase to which allocations after this mark belong
  };

  [[nodiscard]] const Mark* mark_before(std::size_t event) const {
    const auto later = std::ranges::upper_bound(marks_, event, {}, &Mark::event);
    return later == marks_.begin() ? nullptr : &*(later - 1);
  }

  /// Ends and begins the repetitions that end or begin at this event.
  void advance(std::size_t index, Size live) {
    for (std::size_t phase = 0; phase < phases_.size(); ++phase) {
      const std::vector<Span>& spans = phases_[phase].spans;
      std::vector<Repetition>& done = repetitions_[phase];
      if (!done.empty() && spans[done.size() - 1].end == index) done.back().live_after_bytes = live;
      if (done.size() < spans.size() && spans[done.size()].begin == index) done.push_back({live, live, live});
    }
  }

  void begin_phase(std::size_t index, Size live) {
    advance(index, live);
    const std::vector<std::string> now = with_outer_phases(text_of(events_, index));
    std::size_t owner = SIZE_MAX;
    for (std::size_t phase = 0; phase < phases_.size(); ++phase) {
      // The innermost one has the longest name.
      if (contains(now, phases_[phase].name) &&
          (owner == SIZE_MAX || phases_[phase].name.size() > phases_[owner].name.size()))
        owner = phase;
    }
    for (std::size_t phase = 0; phase < phases_.size() && owner == SIZE_MAX; ++phase) {
      const std::vector<Span>& spans = phases_[phase].spans;
      if (spans.front().begin <= index && index < spans.back().end) owner = phase;
    }
    marks_.push_back({index, owner});
  }

  /// Keeps an allocation that outlived its repetition; most do not.
  void end_life(const LiveEntry& entry, std::size_t released) {
    const Mark* const mark = mark_before(entry.index);
    if (mark == nullptr || mark->owner == SIZE_MAX) return;
    const std::vector<Span>& spans = phases_[mark->owner].spans;
    const auto repetition = std::ranges::upper_bound(spans, entry.index, {}, &Span::end);
    // Allocations after the last repetition belong to none.
    if (repetition == spans.end() || released <= repetition->end) return;
    made_.push_back(
        {mark->owner, static_cast<std::size_t>(repetition - spans.begin()), entry.index, released});
  }

  std::span<const Event> events_;
  std::vector<SpannedPhase> phases_;
  std::vector<std::vector<Repetition>> repetitions_;
  std::vector<Made> made_;
  std::unordered_map<std::size_t, std::size_t> names_;     ///< allocation → its name's event
  std::unordered_map<std::uint64_t, std::size_t> stacks_;  ///< id → its event
  std::vector<Mark> marks_;
};

/// Memory with one key that repetitions 1 to N - 1 left behind. Index 0 is the time before the first
/// repetition.
struct LeftMemory {
  std::vector<Size> left;     ///< allocated by each repetition and live at the end of the last one
  std::vector<Size> settled;  ///< live after each repetition and still live after the next one
  bool is_released_later = true;

  explicit LeftMemory(std::size_t repetitions) : left(repetitions), settled(repetitions) {}
};

/// Returns true if at least two values are positive, one of them in the first half. A single one may be a
/// cache that grew late, and memory that only the last repetitions left may still be in use.
bool grows_again_and_again(std::span<const Size> values) {
  const auto positive = [](Size value) { return value > 0; };
  const std::size_t half = (values.size() + 1) / 2;
  return std::ranges::count_if(values, positive) >= 2 && std::ranges::any_of(values.first(half), positive);
}

std::optional<Growth> judge(const LeftMemory& memory, bool is_settled) {
  const std::size_t mid = (memory.left.size() - 1) / 2;  // growth up to here is the warm-up
  const std::span<const Size> late = std::span(memory.left).subspan(mid + 1);
  const bool has_grown = memory.settled.back() > memory.settled[mid];
  Growth growth;
  for (const Size bytes : memory.left) {
    growth.bytes += bytes;
    growth.repetitions += bytes > 0 ? 1 : 0;
  }
  if (growth.bytes == 0) return std::nullopt;
  if (has_grown && grows_again_and_again(late)) {
    growth.verdict = memory.is_released_later && !is_settled ? GrowthVerdict::unsettled : GrowthVerdict::leak;
    if (std::ranges::all_of(late, [&](Size bytes) { return bytes == late.front(); }))
      growth.bytes_per_repetition = late.front();
    return growth;
  }
  const bool was_early =
      std::ranges::any_of(std::span(memory.left).first(mid + 1), [](Size b) { return b > 0; });
  const bool is_late = std::ranges::any_of(late, [](Size bytes) { return bytes > 0; });
  if (is_late && has_grown) {
    growth.verdict = GrowthVerdict::undecided;
  } else if (was_early && !is_late) {
    growth.verdict = GrowthVerdict::warm_up;
  } else {
    return std::nullopt;  // results that the next repetition replaces
  }
  return growth;
}

Size peak_drift(const std::vector<Repetition>& repetitions) {
  std::vector<Size> own;
  own.reserve(repetitions.size());
  for (const Repetition& one : repetitions) own.push_back(one.peak_bytes - one.live_before_bytes);
  const std::size_t mid = own.size() / 2;
  std::vector<Size> steps;
  steps.reserve(own.size());
  for (std::size_t i = mid; i < own.size(); ++i) steps.push_back(own[i] - own[i - 1]);
  const bool shrank = std::ranges::any_of(steps, [](Size step) { return step < 0; });
  return !shrank && grows_again_and_again(steps) ? own.back() - own[mid - 1] : 0;
}

}  // namespace

std::string_view to_string(GrowthVerdict verdict) {
  switch (verdict) {
    case GrowthVerdict::leak:
      return "leak";
    case GrowthVerdict::unsettled:
      return "unsettled";
    case GrowthVerdict::undecided:
      return "undecided";
    case GrowthVerdict::warm_up:
      return "warm_up";
  }
  return "unknown";
}

bool RepeatedPhase::has_leak() const {
  return std::ranges::count(growth, GrowthVerdict::leak, &Growth::verdict) > 0;
}

bool RepeatedPhase::fails() const {
  return has_leak() || peak_drift_bytes.value_or(0) > 0;
}

std::vector<RepeatedPhase> find_repetitions(std::span<const Event> events, const RepetitionOptions& options) {
  std::vector<SpannedPhase> spanned = PhaseSpans(events).repeated();
  if (spanned.empty()) return {};
  RepetitionObserver observer(events, std::move(spanned));
  observer.finish(replay(events, observer));

  using Key = std::tuple<std::size_t, std::string, MemoryKind, std::string, std::string>;
  std::map<Key, LeftMemory> memories;
  std::unordered_map<std::uint64_t, std::string> chains;
  const Symbols no_symbols = [](const std::string&, std::uint64_t) { return std::string(); };
  for (const Made& made : observer.made()) {
    const std::vector<Span>& spans = observer.phases()[made.phase].spans;
    const std::size_t last = spans.size() - 1;
    if (made.repetition == last) continue;
    const Event& event = observer.event(made);
    const auto [chain, is_new] = chains.try_emplace(event.amounts.stack);
    if (is_new)
      chain->second = call_chain(observer.stack(made), options.symbols ? options.symbols : no_symbols);
    const Key key{made.phase, observer.name(made), event.kind, observer.phase(made), chain->second};
    LeftMemory& memory = memories.try_emplace(key, spans.size()).first->second;
    const Size bytes = event.amounts.bytes;
    // Index 0 is before the first repetition.
    for (std::size_t i = made.repetition; i < last && spans[i + 1].end < made.released; ++i)
      memory.settled[i + 1] += bytes;
    if (spans[last].end >= made.released) continue;
    memory.left[made.repetition + 1] += bytes;
    if (made.released == SIZE_MAX) memory.is_released_later = false;
  }

  std::vector<RepeatedPhase> repeated;
  repeated.reserve(observer.phases().size());
  for (std::size_t i = 0; i < observer.phases().size(); ++i) {
    repeated.push_back({observer.phases()[i].name, observer.repetitions(i), {}, std::nullopt});
    if (options.is_settled) repeated.back().peak_drift_bytes = peak_drift(observer.repetitions(i));
  }
  for (const auto& [key, memory] : memories) {
    std::optional<Growth> growth = judge(memory, options.is_settled);
    if (!growth) continue;
    const auto& [phase, name, kind, made_in, where] = key;
    growth->name = name;
    growth->kind = kind;
    growth->phase = made_in;
    growth->where = where;
    repeated[phase].growth.push_back(std::move(*growth));
  }
  for (RepeatedPhase& one : repeated) {
    std::ranges::stable_sort(one.growth, [](const Growth& a, const Growth& b) {
      return a.verdict != b.verdict ? a.verdict < b.verdict : a.bytes > b.bytes;
    });
  }
  return repeated;
}

}  // namespace peakmark
