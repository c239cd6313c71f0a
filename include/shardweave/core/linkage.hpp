#pragma once

/// \file
/// Where definitions stand: in the headers, or in component `shardweave::compiled`; see `shardweave/compiled.hpp`.

/// Begins the definition of a function that the component compiles once. Its declaration says nothing of it.
#ifdef SHARDWEAVE_COMPILED
#define SHARDWEAVE_INLINE
#else
#define SHARDWEAVE_INLINE inline
#endif
