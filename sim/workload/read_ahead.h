#pragma once

#include <memory>

#include "sim/workload/request_source.h"

namespace headway {

// The same requests, read or drawn by a thread of its own some ten thousand ahead. An error of the source
// is thrown by next() where the request would have been.
std::unique_ptr<RequestSource> read_ahead(std::unique_ptr<RequestSource> source);

}  // namespace headway
