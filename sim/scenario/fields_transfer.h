#pragma once

#include "sim/scenario/field.h"
#include "sim/scenario/transfer_options.h"

namespace headway {

// Rows of cluster.transfer; what is between two replicas.
const FieldTable<TransferOptions>& transfer_table();

}  // namespace headway
