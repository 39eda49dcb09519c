// Every format that has an Unpack struct here.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/all.hpp"
#include "kernels/avx2/iq4_nl.hpp"
#include "kernels/avx2/iq4_xs.hpp"
#include "kernels/avx2/mxfp4.hpp"
#include "kernels/avx2/q1_0.hpp"
#include "kernels/avx2/q2_0.hpp"
#include "kernels/avx2/q2_k.hpp"
#include "kernels/avx2/q3_k.hpp"
#include "kernels/avx2/q4_0.hpp"
#include "kernels/avx2/q4_1.hpp"
#include "kernels/avx2/q4_k.hpp"
#include "kernels/avx2/q5_0.hpp"
#include "kernels/avx2/q5_1.hpp"
#include "kernels/avx2/q5_k.hpp"
#include "kernels/avx2/q6_k.hpp"
#include "kernels/avx2/q8_0.hpp"
#include "kernels/avx2/tq1_0.hpp"
#include "kernels/avx2/tq2_0.hpp"
