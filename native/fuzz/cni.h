// What the fuzz targets of the CNI plugins share.
// Guarantees: a reader of the plugins may refuse its input only as an Error with words.
#pragma once
#include "cni/error.h"
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

}  // namespace trellis::cni
