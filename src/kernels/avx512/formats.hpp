// Every format that has an Unpack struct here.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/all.hpp"
#include "kernels/avx512/iq4_nl.hpp"
#include "kernels/avx512/iq4_xs.hpp"
#include "kernels/avx512/mxfp4.hpp"
#include "kernels/avx512/q1_0.hpp"
#include "kernels/avx512/q2_0.hpp"
#include "kernels/avx512/q2_k.hpp"
#include "kernels/avx512/q3_k.hpp"
#include "kernels/avx512/q4_0.hpp"
#include "kernels/avx512/q4_1.hpp"
#include "kernels/avx512/q4_k.hpp"
#include "kernels/avx512/q5_0.hpp"
#include "kernels/avx512/q5_1.hpp"
#include "kernels/avx512/q5_k.hpp"
#include "kernels/avx512/q6_k.hpp"
#include "kernels/avx512/q8_0.hpp"
#include "kernels/avx512/tq1_0.hpp"
#include "kernels/avx512/tq2_0.hpp"
