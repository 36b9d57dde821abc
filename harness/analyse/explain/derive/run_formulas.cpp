#include "analyse/explain/derive/run_formulas.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/sweep/choose_shapes.hpp"
#include "measure/sweep/external_estimator.hpp"
#include "record/ledger/allocation_sequence.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kMaxNames = 3;

void add_other_peaks(RecordedCases& cases) {
  std::vector<std::size_t> off;
  for (std::size_t shape = 0; shape < cases.observations.size(); ++shape) {
    const auto recorded = cases.observations[shape]->requested_peak_bytes;
    if (recorded && *recorded != cases.peaks[shape]) off.push_back(shape);
  }
  if (off.empty()) return;
  const Observation& first = *cases.observations[off.front()];
  cases.notes.push_back(fmt::format(
      "the allocation sequence of {} has another peak than the run file; the first: {}: {} bytes in the "
      "sequence, {} in the run file",
      quantity(off.size(), "case"), first.case_name, cases.peaks[off.front()], *first.requested_peak_bytes));
}

void add_not_repeated(RecordedCases& cases) {
  std::size_t not_repeated = 0;
  std::set<std::string> names;
  const auto sites = short_call_sites(cases.sequences());
  for (std::size_t shape = 0; shape < cases.observations.size(); ++shape) {
    bool is_repeated = true;
    for (const SequencedAllocation& one : cases.sequence(shape)) {
      if (one.is_repeated) continue;
      is_repeated = false;
      const std::string& site = sites.at(one.where);
      names.insert(!one.name.empty() ? one.name : site.empty() ? "unnamed ones" : site);
    }
    if (!is_repeated) ++not_repeated;
  }
  if (not_repeated > 0)
    cases.notes.push_back(fmt::format(
        "{} made other allocations in the second pass ({}): formulas describe the first; set `sync = "
        "true` for the program, and give it a fixed seed",
        quantity(not_repeated, "case"), first_names({names.begin(), names.end()}, kMaxNames)));
}

// Returns whether peaks are the same in both passes, and what to do if not.
std::string repetition(const RecordedCases& cases) {
  std::size_t known = 0;
  std::size_t different = 0;
  for (const Observation* const one : cases.observations) {
    if (!one->second_pass_peak_bytes || !one->requested_peak_bytes) continue;
    ++known;
    if (*one->second_pass_peak_bytes != *one->requested_peak_bytes) ++different;
  }
  if (known == 0) return "record a shape again to see whether its peak repeats";
  if (different == 0) return "the second pass of each case had the same peak";
  return fmt::format(
      "the second pass of {} of {} had another peak; let the processes run one after the other, or record "
      "each alone",
      different, quantity(known, "case"));
}

// Adds a note on memory of other processes that is live at a peak.
void add_other_processes(RecordedCases& cases) {
  std::set<std::string> processes;
  Size most = 0;
  std::size_t largest = 0;
  for (std::size_t shape = 0; shape < cases.observations.size(); ++shape) {
    const AllocationSequence& sequence = cases.sequence(shape);
    Size bytes = 0;
    for (const std::size_t i : live_at_peak(sequence)) {
      if (sequence[i].process.empty()) continue;
      processes.insert(sequence[i].process);
      bytes = checked_add(bytes, sequence[i].bytes);
    }
    if (bytes <= most) continue;
    most = bytes;
    largest = shape;
  }
  if (processes.empty()) return;
  cases.notes.push_back(fmt::format(
      "at the peak of {}, {} of {} belong to {} that the program started: {}; an estimator for the "
      "program alone is too low by that amount. Processes that run at the same time are merged by time: {}",
      cases.observations[largest]->case_name, format_size(most), format_size(cases.peaks[largest]),
      processes.size() == 1 ? "another process" : "other processes",
      first_names({processes.begin(), processes.end()}, kMaxNames), repetition(cases)));
}

// Adds notes on possible reasons why formulas differ from the peaks of other runs: sequences whose peak
// differs from the run file, allocations that the second pass did not repeat, memory of other processes.
void add_case_notes(RecordedCases& cases) {
  add_other_peaks(cases);
  add_not_repeated(cases);
  add_other_processes(cases);
}

constexpr const char* kDTypeAxis = "dtype";

bool has_values(const Observation& observation, const AxisTexts& values) {
  return std::ranges::all_of(values, [&](const auto& one) {
    const AxisValue* const value = observation.axes.find(one.first);
    return value != nullptr && is_value(*value, one.second);
  });
}

// Returns the variants with cases of several dtypes: `dtype` is a factor of their formulas, not a word.
std::set<std::string> variants_with_several_dtypes(const std::vector<const Observation*>& observations) {
  std::map<std::string, std::set<std::string>> dtypes;
  for (const Observation* const observation : observations) {
    const AxisValue* const dtype = observation->axes.find(kDTypeAxis);
    if (dtype != nullptr && std::holds_alternative<std::string>(*dtype))
      dtypes[observation->variant].insert(std::get<std::string>(*dtype));
  }
  std::set<std::string> variants;
  for (const auto& [variant, names] : dtypes) {
    if (names.size() > 1) variants.insert(variant);
  }
  return variants;
}

struct SplitAxes {
  std::vector<WordSet> words;
  std::vector<std::pair<std::string, Size>> integers;
};

SplitAxes split_axes(const Parameters& axes, bool dtype_is_factor) {
  SplitAxes split;
  for (const auto& [axis, value] : axes.values()) {
    if (const Size* const integer = std::get_if<Size>(&value)) {
      split.integers.emplace_back(axis, *integer);
    } else if (axis == kDTypeAxis && dtype_is_factor) {
      split.integers.emplace_back(kItemSizeAxis, size_of(parse_dtype(std::get<std::string>(value))));
    } else {
      split.words.push_back({axis, {value}});
    }
  }
  return split;
}

// Returns whether the cases have the same axes: in a merged run, a later version of a variant may have more.
bool has_axes(const Shapes& shapes, const std::vector<std::pair<std::string, Size>>& integers) {
  return std::ranges::equal(shapes.axes, integers, {}, &Shapes::Axis::name,
                            [](const auto& one) { return one.first; });
}

void add_shape(RecordedCases& cases, const std::vector<std::pair<std::string, Size>>& integers,
               const Observation& observation) {
  if (cases.shapes.axes.empty()) {
    for (const auto& [axis, value] : integers) cases.shapes.axes.push_back({axis, {}});
  }
  std::vector<Size> lengths;
  lengths.reserve(integers.size());
  for (const auto& [axis, value] : integers) lengths.push_back(value);
  // A shape that was recorded before adds nothing, unless its allocations differ.
  const Size peak = peak_bytes(*observation.allocation_sequence);
  for (std::size_t shape = 0; shape < cases.observations.size(); ++shape) {
    if (cases.shapes.lengths(shape) != lengths) continue;
    if (peak != cases.peaks[shape])
      cases.notes.push_back(
          fmt::format("{}: recorded twice with different peaks, {} and {} bytes; the first is used",
                      observation.case_name, cases.peaks[shape], peak));
    return;
  }
  cases.shapes.add(lengths);
  cases.peaks.push_back(peak);
  cases.observations.push_back(&observation);
}

bool is_too_long(const Observation& observation) {
  return !observation.allocation_sequence &&
         observation.allocations.value_or(0) > static_cast<std::int64_t>(kMaxSequencedAllocations);
}

std::string too_long_text(std::size_t cases) {
  return fmt::format(
      "{} made more than {} allocations, too many for formulas: record smaller shapes, or fewer "
      "calls",
      quantity(cases, "case"), kMaxSequencedAllocations);
}

// Sorts the cases so that every fourth, which explain() holds out, has a shape that no other dtype has among
// those for fitting.
void hold_out_whole_shapes(RecordedCases& cases) {
  std::map<std::vector<Size>, std::size_t> ordinals;  // for each shape without its item size
  const Shapes::Axis* const item_size = cases.shapes.axis(kItemSizeAxis);
  std::vector<std::size_t> fitted;
  std::vector<std::size_t> held_out;
  for (std::size_t i = 0; i < cases.observations.size(); ++i) {
    std::vector<Size> shape = cases.shapes.lengths(i);
    if (item_size != nullptr) shape[static_cast<std::size_t>(item_size - cases.shapes.axes.data())] = 0;
    const std::size_t ordinal = ordinals.try_emplace(std::move(shape), ordinals.size()).first->second;
    (is_held_out(ordinal) ? held_out : fitted).push_back(i);
  }
  std::vector<std::size_t> order = with_held_out(fitted, held_out);
  const auto tested = static_cast<std::ptrdiff_t>(order.size() / 4);
  const auto used = static_cast<std::ptrdiff_t>(order.size()) - tested;
  order.insert(order.end(), fitted.begin() + used, fitted.end());
  order.insert(order.end(), held_out.begin() + tested, held_out.end());
  RecordedCases sorted = cases;
  sorted.shapes = cases.shapes.subset(order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted.observations[i] = cases.observations[order[i]];
    sorted.peaks[i] = cases.peaks[order[i]];
  }
  cases = std::move(sorted);
}

Explanation explain_group(const RecordedCases& cases, const AllocationSequences& sequences) {
  Explanation explanation;
  if (!cases.fitters) {
    explanation.fitted = sequences.size();
    explanation.notes.emplace_back("no axis is an integer: formulas are made of integer axes such as ny");
    return explanation;
  }
  explanation = explain(*cases.fitters, sequences);
  if (!explanation.has_enough_shapes())
    explanation.notes.emplace_back(
        "add shapes to the suite, or explain the suite or the variant itself, which chooses shapes of axes "
        "that are not fixed");
  return explanation;
}

// Returns axes that vary and occur in no formula.
std::vector<std::string> unread_axes(const VariantFormulas& variant) {
  std::set<std::string> read;
  const auto add = [&](const std::optional<Expression>& formula) {
    if (!formula) return;
    for (std::string& axis : formula->axes()) read.insert(std::move(axis));
  };
  for (const ExplainedAllocation& one : variant.explanation.allocations) {
    add(one.count.formula);
    add(one.bytes.formula);
  }
  std::vector<std::string> unread;
  for (const Shapes::Axis& axis : variant.shapes().axes) {
    if (!is_constant(axis.values) && !read.contains(axis.name)) unread.push_back(axis.name);
  }
  return unread;
}

// Returns what two explanations must have in common to be merged; empty if something is not explained.
std::vector<std::string> formulas(const Explanation& explanation) {
  std::vector<std::string> texts;
  if (explanation.unexplained_bytes != 0 || !explanation.peak()) return texts;
  for (const ExplainedAllocation& one : explanation.allocations) {
    texts.insert(texts.end(), {one.name, one.phase, one.where, one.process, to_text(*one.count.formula),
                               to_text(*one.bytes.formula)});
  }
  texts.push_back(to_text(*explanation.peak()));
  return texts;
}

// Returns the index of the only axis whose words differ; null if there are several, or the axes differ.
std::optional<std::size_t> different_axis(const VariantFormulas& one, const VariantFormulas& other) {
  if (one.variant != other.variant || one.backend != other.backend || one.words.size() != other.words.size())
    return std::nullopt;
  std::optional<std::size_t> different;
  for (std::size_t i = 0; i < one.words.size(); ++i) {
    if (one.words[i].axis != other.words[i].axis) return std::nullopt;
    if (one.words[i].words == other.words[i].words) continue;
    if (different) return std::nullopt;
    different = i;
  }
  return different;
}

// `axis`: result of different_axis().
void merge(VariantFormulas& one, VariantFormulas other, std::size_t axis) {
  std::ranges::move(other.words[axis].words, std::back_inserter(one.words[axis].words));
  one.explanation.fitted += other.explanation.fitted;
  one.explanation.held_out += other.explanation.held_out;
  for (std::string& note : other.explanation.notes) {
    if (std::ranges::find(one.explanation.notes, note) == one.explanation.notes.end())
      one.explanation.notes.push_back(std::move(note));
  }
  std::ranges::move(other.cases, std::back_inserter(one.cases));
  one.sites.merge(other.sites);
}

// Merges variants with the same formulas until no two of them differ only in the words of one axis.
void merge_all(std::vector<VariantFormulas>& all) {
  std::vector<std::vector<std::string>> texts;
  texts.reserve(all.size());
  for (const VariantFormulas& one : all) texts.push_back(formulas(one.explanation));
  for (std::size_t i = 0; i < all.size();) {
    bool is_merged = false;
    for (std::size_t j = i + 1; j < all.size() && !texts[i].empty(); ++j) {
      if (texts[i] != texts[j]) continue;
      const auto axis = different_axis(all[i], all[j]);
      if (!axis) continue;
      merge(all[i], std::move(all[j]), *axis);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(j));
      texts.erase(texts.begin() + static_cast<std::ptrdiff_t>(j));
      is_merged = true;
      break;
    }
    i = is_merged ? 0 : i + 1;  // a merged one may now fit an earlier one
  }
}

}  // namespace

std::string VariantFormulas::site(const std::string& where) const {
  const auto found = sites.find(where);
  return found == sites.end() ? where : found->second;
}

AllocationSequences RecordedCases::sequences() const {
  AllocationSequences all;
  all.reserve(observations.size());
  for (std::size_t shape = 0; shape < observations.size(); ++shape) all.emplace_back(sequence(shape));
  return all;
}

bool is_value(const AxisValue& value, const std::string& text) {
  const double* const number = std::get_if<double>(&value);
  return number != nullptr ? parse_float(text) == *number : to_text(value) == text;
}

std::string words_text(const std::vector<WordSet>& words) {
  std::vector<std::string> texts;
  texts.reserve(words.size());
  for (const WordSet& set : words) {
    std::string joined;
    for (const AxisValue& word : set.words) joined += (joined.empty() ? "" : ",") + to_text(word);
    texts.push_back(fmt::format("{}={}", set.axis, joined));
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

std::string variant_title(const std::string& variant, const std::vector<WordSet>& words) {
  const std::string text = words_text(words);
  return variant + (text.empty() ? "" : "  " + text);
}

void keep_explained_cases(Run& run, const AxisTexts& values) {
  const auto has_sequence = [](const Observation& one) { return one.allocation_sequence.has_value(); };
  if (std::ranges::none_of(run.observations, has_sequence)) {
    const auto too_long = std::ranges::count_if(run.observations, is_too_long);
    throw UsageError(too_long > 0
                         ? too_long_text(static_cast<std::size_t>(too_long))
                         : "no case of this run has its allocation sequence: record them with `peakmark run "
                           "SUITE --sequences`");
  }
  std::erase_if(run.observations, [&](const Observation& one) { return !has_values(one, values); });
  if (std::ranges::none_of(run.observations, has_sequence))
    throw UsageError("no case of this run has all these values: correct AXIS=VALUE");
}

std::vector<RecordedCases> group_cases(const Run& run) {
  std::vector<const Observation*> observations;
  for (const Observation& observation : run.observations) {
    if (observation.allocation_sequence) observations.push_back(&observation);
  }
  const std::set<std::string> with_item_size = variants_with_several_dtypes(observations);
  std::vector<RecordedCases> groups;
  for (const Observation* const observation : observations) {
    auto [words, integers] = split_axes(observation->axes, with_item_size.contains(observation->variant));
    auto group = std::ranges::find_if(groups, [&, &words = words, &integers = integers](const auto& one) {
      return one.variant == observation->variant && one.backend == observation->backend &&
             one.words == words && has_axes(one.shapes, integers);
    });
    if (group == groups.end())
      group = groups.insert(
          groups.end(), {observation->variant, observation->backend, std::move(words), {}, {}, {}, {}, {}});
    add_shape(*group, integers, *observation);
  }
  for (RecordedCases& group : groups) {
    if (with_item_size.contains(group.variant)) hold_out_whole_shapes(group);
    add_case_notes(group);
    const auto too_long = std::ranges::count_if(run.observations, [&](const Observation& one) {
      return one.variant == group.variant && is_too_long(one);
    });
    if (too_long > 0) group.notes.push_back(too_long_text(static_cast<std::size_t>(too_long)));
    if (group.shapes.axes.empty()) continue;
    const auto same = std::ranges::find_if(groups, [&](const RecordedCases& one) {
      return one.fitters && one.fitters->shapes() == group.shapes;
    });
    group.fitters = same == groups.end() ? std::make_shared<Fitters>(group.shapes) : same->fitters;
  }
  return groups;
}

std::vector<VariantFormulas> explain_cases(std::vector<RecordedCases> groups, std::size_t frames) {
  std::vector<VariantFormulas> all;
  all.reserve(groups.size());
  for (RecordedCases& group : groups) {
    const AllocationSequences sequences = group.sequences();
    VariantFormulas one{group.variant,
                        group.backend,
                        group.words,
                        explain_group(group, sequences),
                        {},
                        short_call_sites(sequences, frames)};
    one.explanation.notes.insert(one.explanation.notes.end(), group.notes.begin(), group.notes.end());
    one.cases.push_back(std::move(group));
    if (const std::vector<std::string> unread = unread_axes(one); one.is_explained() && !unread.empty())
      one.explanation.notes.push_back(fmt::format("no formula reads {}: bytes do not depend on {}",
                                                  fmt::join(unread, ", "),
                                                  unread.size() == 1 ? "it" : "them"));
    all.push_back(std::move(one));
  }
  merge_all(all);
  return all;
}

Shapes tested_shapes(const VariantFormulas& variant) {
  Shapes all = variant.shapes();
  for (std::size_t i = 1; i < variant.cases.size(); ++i) {
    const Shapes& shapes = variant.cases[i].shapes;
    for (Shapes::Axis& axis : all.axes) {
      const Shapes::Axis* const more = shapes.axis(axis.name);
      if (more != nullptr) axis.values.insert(axis.values.end(), more->values.begin(), more->values.end());
    }
  }
  return all;
}

std::size_t largest_shape(const RecordedCases& cases) {
  return static_cast<std::size_t>(std::ranges::max_element(cases.peaks) - cases.peaks.begin());
}

}  // namespace peakmark
