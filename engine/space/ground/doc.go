// Package ground has the map of a scene in space: it reads the block space of the scene's file
// ([Definition]) strictly into a [Map] of free and blocked cells and named places, and
// finds paths on it ([Finder]).
//
// # Promises
//
//  1. A map is complete, or there is a list of faults, each with its field.
//  2. A path leads over free cells from neighbour to neighbour, never between two blocked
//     ones that touch at a corner. No other path has fewer steps. Equal maps give equal paths.
//  3. A search ends after [MaxSearch] cells.
package ground
