// What a request does with an object.
// Guarantees: the same four words for every family.
#pragma once
#include <linux/netlink.h>

#include <cstdint>

#include "netlink/names.h"

namespace trellis::netlink {

enum class Verb : uint8_t { Add, Replace, Change, Delete };

inline constexpr Name kVerbs[] = {{"add", static_cast<uint32_t>(Verb::Add)},
                                  {"replace", static_cast<uint32_t>(Verb::Replace)},
                                  {"change", static_cast<uint32_t>(Verb::Change)},
                                  {"delete", static_cast<uint32_t>(Verb::Delete)}};

// The flags of an rtnetlink NEW message for the verb.
inline uint16_t NewFlags(Verb verb) {
  switch (verb) {
    case Verb::Add:
      return NLM_F_CREATE | NLM_F_EXCL;
    case Verb::Replace:
      return NLM_F_CREATE | NLM_F_REPLACE;
    default:
      return 0;
  }
}

}  // namespace trellis::netlink
