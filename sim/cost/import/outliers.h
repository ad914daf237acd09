#pragma once

#include "sim/cost/profile.h"

namespace headway {

inline constexpr std::uint8_t kOutlierFlag = 1;

// Leave-one-out: flags rows whose time disagrees, by more than `factor` and in the same direction,
// with what the neighbours along every axis say. Returns how many; the rows stay.
//
// Along an axis the neighbours are the rows with the next smaller and next larger key there, all
// other keys equal. Between two neighbours the time is expected on the straight line in log-log;
// at the end of an axis, where there is one, anywhere between the neighbour's time and that time
// scaled by the ratio of the keys (an operator's work grows between not at all and in proportion).
// A row is judged only if at least two axes have a neighbour and one of them has two, so that a
// step at a tile edge, which only one axis sees, is never taken for an outlier.
int flag_outliers(ProfileTable& table, double factor = 1.6);

}  // namespace headway
