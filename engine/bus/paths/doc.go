// Package paths finds the patterns that a change of the world touches. The cost
// depends on the number of touched patterns, not of all patterns.
//
// You hold an [Index] of values by pattern. [Index.Touched] visits the values whose
// pattern names the path, a place above it or a place below it: exactly those for
// which world.Pattern.Touches is true. A pattern with several `**` may match along
// several paths; it is still reported once.
package paths
