#include "cni/fault.h"

namespace trellis::cni {

__attribute__((weak)) void FaultPoint(const char*) {}

}  // namespace trellis::cni
