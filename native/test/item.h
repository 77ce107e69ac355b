// An item of a JSON list by its place, for tests; a list of the core is walked, not indexed.
// Guarantees: a list that is too short fails the test.
#pragma once
#include "base/json.h"
#include "test/check.h"

namespace trellis::test {

inline const json::Value& ItemOf(const json::Value& list, size_t index) {
  for (const auto& item : list.items())
    if (index-- == 0) return item;
  throw Failed("the list has no such item");
}

}  // namespace trellis::test
