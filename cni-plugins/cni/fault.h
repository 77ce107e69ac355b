// Places at which a test can end the process, as a crash would.
// Guarantees: they do nothing in the executable that is shipped; that of the tests is linked with another definition.
#pragma once

namespace trellis::cni {

void FaultPoint(const char* name);

}  // namespace trellis::cni
