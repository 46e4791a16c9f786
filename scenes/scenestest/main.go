package scenestest

import cmap "github.com/orcaman/concurrent-map"

// SmallSystems makes the systems of actors of a test's process small: each of the 1,024 parts of Proto.Actor's registry
// gets one map in place of 32. Tests start thousands of systems with a few actors, and these maps took a seventh of their
// time. A TestMain calls it before anything starts.
func SmallSystems() { cmap.SHARD_COUNT = 1 }
