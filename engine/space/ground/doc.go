// Package ground is the ground of a scene in space: the block space of its file
// ([Definition]), read strictly into a [Map] of free and blocked cells and named places, and
// the paths on it ([Finder]).
//
// # Promises
//
//  1. A map is complete or a list of faults, each with the field that it is about.
//  2. A path leads over free cells from neighbour to neighbour, never between two blocked
//     ones that touch at a corner, and no other path has fewer steps. Equal maps give equal paths.
//  3. A search ends after [MaxSearch] cells.
package ground
