// What fault points do in the CNI executable of the tests: the one that TRELLIS_CNI_FAULT names ends the process.
#include "cni/fault.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace trellis::cni {

void FaultPoint(const char* name) {
  const char* wanted = getenv("TRELLIS_CNI_FAULT");
  if (wanted != nullptr && strcmp(wanted, name) == 0) kill(getpid(), SIGKILL);
}

}  // namespace trellis::cni
