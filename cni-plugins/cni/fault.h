// Places at which a test can end the process, as a crash would.
// Guarantees: does nothing unless TRELLIS_CNI_FAULT names the place.
#pragma once
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace trellis::cni {

inline void FaultPoint(const char* name) {
  const char* wanted = getenv("TRELLIS_CNI_FAULT");
  if (wanted != nullptr && strcmp(wanted, name) == 0) kill(getpid(), SIGKILL);
}

}  // namespace trellis::cni
