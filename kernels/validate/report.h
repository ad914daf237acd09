#pragma once

#include <string>

#include "kernels/validate/validation.h"

namespace headway::kernels {

// The error table with what it rests on, for a terminal; the same as JSON.
std::string report_text(const Validation& validation);
std::string report_json(const Validation& validation);

// "within", "NOT within", "not judged (something else used the CPU)"
std::string verdict_of(const Validation& validation);

}  // namespace headway::kernels
