#include "base/report.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"

namespace peakmark {
namespace {

enum class Kind { buffer };
const char* to_string(Kind /*kind*/) {
  return "buffer";
}

struct Measured {
  std::string name;
  Kind kind = Kind::buffer;
  std::optional<Size> bytes;
  std::optional<double> ns;
};

const Fields<Measured>& measured_fields() {
  static const Fields<Measured> fields{
      {"name", As::name, &Measured::name, "name", "(unnamed)"},
      {"", As::hidden, &Measured::kind, "kind"},
      {"size", As::size, &Measured::bytes, "bytes"},
      {"twice", As::number, [](const Measured& one) { return 2 * one.bytes.value_or(0); }},
      {"time", As::duration, &Measured::ns, "time_ns"}};
  return fields;
}

TEST(Report, OneListOfFieldsIsTextMarkdownAndJson) {
  const std::vector<Measured> rows{{"a|b", Kind::buffer, 1536, 1500.0}, {"", Kind::buffer, {}, {}}};
  EXPECT_EQ(rows_text(measured_fields(), rows),
            "name          size  twice    time\n"
            "a|b        1.5 KiB   3072  1.5 us\n"
            "(unnamed)        –      0       –\n");
  MarkdownTable markdown(columns(measured_fields()), 1000);
  markdown.add(cells(measured_fields(), rows.front()));
  EXPECT_EQ(markdown.text(),
            "| name | size | twice | time |\n|---|---:|---:|---:|\n| `a¦b` | 1.5 KiB | 3072 | 1.5 us |\n");
  EXPECT_EQ(rows_json(measured_fields(), rows).dump(),
            R"([{"name":"a|b","kind":"buffer","bytes":1536,"time_ns":1500.0},)"
            R"({"name":"","kind":"buffer","bytes":null,"time_ns":null}])");
}

TEST(Report, ShowsTheFirstRowsAndHowManyMore) {
  const std::vector<Measured> rows{{"a", Kind::buffer, 1, 1.0}, {"b", Kind::buffer, 2, 2.0}};
  const std::vector<const Measured*> listed{&rows[0], &rows[1]};
  const Fields<Measured> fields{{"bytes", As::bytes, &Measured::bytes}};
  EXPECT_EQ(rows_text(fields, listed, 1, "  "), "  bytes\n    1 B\n  and 1 more; --json has them all\n");
  EXPECT_EQ(rows_text(fields, listed), "bytes\n  1 B\n  2 B\n");
}

struct Chain {
  std::vector<std::string> frames;
};
struct Call {
  Chain chain;
  int count = 0;
};

TEST(Report, AListIsALineEachOrItsFirst) {
  const std::vector<Call> calls{{{{"pad.py:3", "main.py:7"}}, 2}, {{}, 1}};
  const auto fields = [](As as) {
    const Fields<Chain> chain{{"site", as, &Chain::frames, "frames", "(no stack recorded)"}};
    Fields<Call> fields = part_fields(&Call::chain, chain);
    fields.emplace_back("count", As::number, &Call::count, "count");
    return fields;
  };
  EXPECT_EQ(rows_text(fields(As::lines), calls, 2, "  "),
            "  site                 count\n"
            "  pad.py:3                 2\n"
            "    main.py:7\n"
            "  (no stack recorded)      1\n");
  EXPECT_EQ(rows_text(fields(As::text), calls, 1),
            "site      count\npad.py:3      2\n  and 1 more; --json has them all\n");
  EXPECT_EQ(row_json(fields(As::lines), calls[0]).dump(), R"({"frames":["pad.py:3","main.py:7"],"count":2})");
}

TEST(Report, WritesAValueByItsKind) {
  EXPECT_EQ(to_text(4096, As::number), "4096");
  EXPECT_EQ(to_text(0.123456, As::number), "0.1235");
  EXPECT_EQ(to_text(4096, As::change), "+4096");
  EXPECT_EQ(to_text(0, As::change), "0");
  EXPECT_EQ(to_text(-1, As::change), "-1");
  EXPECT_EQ(to_text(0.9526, As::ratio), "0.953");
  EXPECT_EQ(to_text(nullptr, As::size), "–");
  EXPECT_EQ(to_text("", As::text, "(none)"), "(none)");
}

}  // namespace
}  // namespace peakmark
