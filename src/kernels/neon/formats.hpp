// Every format that has an Unpack struct here.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/all.hpp"
#include "kernels/neon/q4_0.hpp"
#include "kernels/neon/q4_k.hpp"
#include "kernels/neon/q5_k.hpp"
#include "kernels/neon/q6_k.hpp"
#include "kernels/neon/q8_0.hpp"
