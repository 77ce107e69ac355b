// A lock on an open file that ends with the last descriptor of it, so also with its process.
// Guarantees: never waits.
#pragma once

namespace trellis {

// False when another open file holds it. Throws what else the kernel refuses.
bool TryLockFile(int fd);

}  // namespace trellis
