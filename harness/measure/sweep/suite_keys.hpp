#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace peakmark {

/// Returns the JSON schema of suites (suites/suite.schema.json). It is the only list of the keys of a suite
/// and of their closed sets of words: editors use it for completion and checks, and the readers accept no
/// other key.
std::string_view suite_schema();

}  // namespace peakmark

// Lists of the schema, in its order.
namespace peakmark::suite_keys {

using Keys = std::vector<std::string>;

const Keys& suite();              ///< keys of the file
const Keys& sweep();              ///< keys of `[[sweep]]`
const Keys& rule();               ///< keys of `[[sweep.rule]]`
const Keys& axis();               ///< keys of an axis that is a table: a range, powers of two, a formula
const Keys& program();            ///< keys of `[[program]]`
const Keys& program_axis();       ///< keys of an axis of a program that is a table
const Keys& estimator();          ///< keys of `[[estimator]]`
const Keys& estimator_formula();  ///< keys of `[[estimator.formula]]`
const Keys& outcomes();           ///< values of `expect`
const Keys& estimator_forms();    ///< values of an estimator's `form`
const Keys& dtypes();             ///< values of an estimator's `dtype`, besides numpy's codes such as "<f4"

}  // namespace peakmark::suite_keys
