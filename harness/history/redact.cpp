#include "runfile/redact.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "history/inside.hpp"
#include "history/run_record.hpp"

namespace peakmark::history {
namespace {

struct StoredRun {
  std::int64_t number = 0;
  std::string host_name;
  std::string context;
};

struct StoredFacts {
  std::int64_t number = 0;
  std::int64_t sweep_case = 0;
  std::string observation;
};

/// Removes private texts within the caller's transaction.
class Redaction {
 public:
  Redaction(soci::session& sql, const PrivateTexts& texts) : sql_(sql), texts_(texts) {}

  std::int64_t redact() {
    const std::vector<StoredRun> runs = stored_runs();
    for (const StoredRun& run : runs) texts_ = with_texts_of_json(std::move(texts_), run.context);
    const std::vector<StoredFacts> facts = stored_facts();
    for (const StoredFacts& one : facts) texts_ = with_texts_of_json(std::move(texts_), one.observation);
    for (const StoredRun& run : runs) redact_run(run);
    for (const StoredFacts& one : facts) redact_facts(one);
    redact_acceptances();
    redact_branches();
    redact_commits();
    return static_cast<std::int64_t>(changed_.size());
  }

 private:
  std::vector<StoredRun> stored_runs() {
    std::vector<StoredRun> runs;
    StoredRun row;
    each_row(
        sql_, "SELECT number, host_name, context FROM runs", [&] { runs.push_back(row); },
        soci::into(row.number), soci::into(row.host_name), soci::into(row.context));
    return runs;
  }

  std::vector<StoredFacts> stored_facts() {
    std::vector<StoredFacts> facts;
    StoredFacts row;
    each_row(
        sql_, "SELECT number, case_number, observation FROM facts", [&] { facts.push_back(row); },
        soci::into(row.number), soci::into(row.sweep_case), soci::into(row.observation));
    return facts;
  }

  void redact_run(const StoredRun& run) {
    const std::string context = redacted_json(run.context, texts_);
    if (context == run.context) return;
    const std::string host = to_history_run(context).host_name;
    const std::string digest(kRedactedDigest);  // SOCI keeps a reference until the statement is executed
    sql_ << "UPDATE runs SET context = :c, host_name = :h, digest = :d WHERE number = :n", soci::use(context),
        soci::use(host), soci::use(digest), soci::use(run.number);
    changed_.insert(run.number);
  }

  void redact_facts(const StoredFacts& facts) {
    const std::string observation = redacted_json(facts.observation, texts_);
    if (observation == facts.observation) return;
    const std::int64_t hash = hash_facts(observation);
    std::int64_t run = 0;
    each_row(
        sql_, fmt::format("SELECT run_number FROM observations WHERE facts_number = {}", facts.number),
        [&] { changed_.insert(run); }, soci::into(run));
    const std::string digest(kRedactedDigest);
    sql_ << "UPDATE runs SET digest = :d WHERE number IN (SELECT run_number FROM observations WHERE "
            "facts_number "
            "= :n)",
        soci::use(digest), soci::use(facts.number);
    // Facts that differed only in private texts are equal now.
    const auto same = ask<std::int64_t>(
        sql_, "SELECT number FROM facts WHERE case_number = :c AND hash = :h AND number <> :n",
        facts.sweep_case, hash, facts.number);
    if (!same) {
      sql_ << "UPDATE facts SET observation = :o, hash = :h WHERE number = :n", soci::use(observation),
          soci::use(hash), soci::use(facts.number);
      return;
    }
    sql_ << "UPDATE observations SET facts_number = :s WHERE facts_number = :n", soci::use(*same),
        soci::use(facts.number);
    sql_ << "DELETE FROM facts WHERE number = :n", soci::use(facts.number);
  }

  void redact_acceptances() {
    std::string reason;
    std::set<std::string> reasons;
    each_row(
        sql_, "SELECT reason FROM acceptances", [&] { reasons.insert(reason); }, soci::into(reason));
    for (const std::string& before : reasons) {
      const std::string after = public_text(before, texts_);
      sql_ << "UPDATE acceptances SET reason = :a WHERE reason = :b", soci::use(after), soci::use(before);
    }
    sql_ << "UPDATE acceptances SET accepted_by = ''";
  }

  /// A branch may be named after its author. The base branch has the same name in both tables.
  void redact_branches() {
    std::string branch;
    std::set<std::string> branches;
    each_row(
        sql_, "SELECT branch FROM runs UNION SELECT base_branch FROM peakmark_history",
        [&] { branches.insert(branch); }, soci::into(branch));
    for (const std::string& before : branches) {
      const std::string after = public_text(before, texts_);
      if (after == before) continue;
      sql_ << "UPDATE runs SET branch = :a WHERE branch = :b", soci::use(after), soci::use(before);
      sql_ << "UPDATE peakmark_history SET base_branch = :a WHERE base_branch = :b", soci::use(after),
          soci::use(before);
    }
  }

  /// The name of an author is private here, as that of who accepted a change.
  void redact_commits() {
    std::string subject;
    std::set<std::string> subjects;
    each_row(
        sql_, "SELECT commit_subject FROM runs", [&] { subjects.insert(subject); }, soci::into(subject));
    for (const std::string& before : subjects) {
      const std::string after = public_text(before, texts_);
      if (after == before) continue;
      sql_ << "UPDATE runs SET commit_subject = :a WHERE commit_subject = :b", soci::use(after),
          soci::use(before);
    }
    sql_ << "UPDATE runs SET commit_author = ''";
  }

  soci::session& sql_;
  PrivateTexts texts_;
  std::set<std::int64_t> changed_;
};

}  // namespace

std::int64_t History::redact(const PrivateTexts& texts) {
  return implementation_->database.guarded([&] {
    soci::session& sql = implementation_->sql();
    const bool is_sqlite = !implementation_->database.is_postgresql();
    Transaction transaction(implementation_->database, Access::write,
                            {{"UPDATE", {"runs", "facts", "observations", "acceptances", "peakmark_history"}},
                             {"DELETE", {"facts"}}});
    const std::int64_t changed = Redaction(sql, texts).redact();
    transaction.commit();
    // The old rows are still in free pages of the file.
    if (is_sqlite) {
      sql << "VACUUM";
    } else {
      for (const char* const table : {"runs", "facts", "acceptances", "peakmark_history"})
        sql << fmt::format("VACUUM FULL {}", table);
    }
    return changed;
  });
}

}  // namespace peakmark::history
