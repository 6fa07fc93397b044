#include <c10/metal/indexing.h>
