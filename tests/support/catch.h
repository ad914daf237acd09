#pragma once

// One include for Catch2 v2 (Debian 12) and v3 (Debian 13, Ubuntu 24.04). Every test case carries
// the tag of its layer: [unit], [contract], [conformance], [fidelity], [golden] or [cli].
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
using Catch::Matchers::Contains;
inline auto ContainsSubstring(const std::string& text) { return Contains(text); }
#endif
