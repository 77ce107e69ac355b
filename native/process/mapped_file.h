// What a file that is mapped into this process keeps resident, given back to the kernel.
// Guarantees: only shared mappings that cannot be written are touched; what they show stays the same, and a page is there
// again when it is next looked at.
#pragma once
#include <string>

namespace trellis {

// The caller sees to it that the file is not unmapped meanwhile. `path` as the kernel knows it: absolute, without links. Answers
// how many bytes of mappings it has.
size_t ReleaseMappedPages(const std::string& path);

}  // namespace trellis
