// Package paths finds the patterns that a change of the world touches, at a cost
// by the patterns that it touches and not by all there are.
//
// You hold an [Index] of values by pattern. [Index.Touched] visits those whose
// pattern names the path, a place above it or a place below it: exactly those of
// which world.Pattern.Touches holds. A pattern with several `**` may be visited
// along several ways and is told once.
package paths
