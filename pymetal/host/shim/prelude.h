// What every translated Metal program begins with: Metal's types, functions and keywords, as C++.
#pragma once

#include "spaces.h"
#include "traits.h"
#include "bfloat.h"
#include "guarded.h"
#include "vectors.h"
#include "containers.h"
#include "numeric_limits.h"
#include "elementary.h"
#include "functions.h"
#include "integers.h"
#include "relational.h"
#include "geometric.h"
#include "atomics.h"
#include "unsupported.h"
#include "launch.h"
