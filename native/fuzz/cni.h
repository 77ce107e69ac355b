// What the fuzz targets of the CNI plugins share.
// Guarantees: a reader of the plugins may refuse its input only as an Error with words.
#pragma once
#include "cni/error.h"
#include "cni/plugin.h"
#include "fuzz/fuzz.h"

namespace trellis::cni {

// False when it was refused.
template <class Reader>
bool Reads(Reader reader) {
  try {
    reader();
    return true;
  } catch (const Error& error) {
    MUST(*error.what() != '\0');
    return false;
  }
}

// Hands a configuration, as ADD gets it, to a reader of requests.
template <class Reader>
void ReadsRequest(Bytes input, Reader reader) {
  static const Environment env{Command::Add, "c1", "/proc/self/ns/net", "eth0", "/opt/cni/bin", {}, false};
  fuzz::AcceptsObject(input,
                      [&](const json::Value& root) { Reads([&] { reader(Request::Read(env, root, fuzz::TextOf(input))); }); });
}

}  // namespace trellis::cni
