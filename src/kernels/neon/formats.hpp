// Every format that has an Unpack struct here.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/all.hpp"
#include "kernels/neon/iq4_nl.hpp"
#include "kernels/neon/iq4_xs.hpp"
#include "kernels/neon/mxfp4.hpp"
#include "kernels/neon/q1_0.hpp"
#include "kernels/neon/q2_0.hpp"
#include "kernels/neon/q2_k.hpp"
#include "kernels/neon/q3_k.hpp"
#include "kernels/neon/q4_0.hpp"
#include "kernels/neon/q4_1.hpp"
#include "kernels/neon/q4_k.hpp"
#include "kernels/neon/q5_0.hpp"
#include "kernels/neon/q5_1.hpp"
#include "kernels/neon/q5_k.hpp"
#include "kernels/neon/q6_k.hpp"
#include "kernels/neon/q8_0.hpp"
#include "kernels/neon/tq1_0.hpp"
#include "kernels/neon/tq2_0.hpp"
