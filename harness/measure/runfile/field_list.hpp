#pragma once

#include <concepts>
#include <type_traits>

namespace peakmark {

/// `T` is `Structure`, const or not.
///
/// A structure that is an object in a JSON document has a field list, the only place that names its keys:
///
///     template <EitherConst<PeakEntry> T, typename Fields>
///     void for_each_field(T& entry, Fields& fields) {
///       fields("name", entry.name);
///     }
///
/// json_fields.hpp writes and reads objects by it, in the order of the list. `fields` has these calls:
/// - `fields(key, member)`: a field that every document has; null if an optional member has no value.
/// - `fields.bytes(key, member)`: the same, but a value below 0 is an error.
/// - `fields.written_if(key, member, condition)`: written only if the condition is true; if it is not in a
///   document, the member keeps its value.
/// - `fields.null_if_empty(key, text)`: an empty text is null.
/// - `fields.derived(key, text)`: written, and ignored by readers.
template <typename T, typename Structure>
concept EitherConst = std::same_as<std::remove_const_t<T>, Structure>;

}  // namespace peakmark
