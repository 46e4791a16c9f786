// Package refs fills dynamic references, "{{{key}}}", into the contents of entries of
// knowledge bases (agent architecture §3.4).
//
// You hold a [Resolver], a plain value over immutable bases.
//
// # Promises
//
//  1. A reference that cannot be resolved leaves a visible marker and a warning.
//  2. Depth, number and size of references are bounded by the named limits. At a bound a
//     reference leaves a marker.
//
// Values print in text as in package engine/template.
//
// # Not here
//
// Permission to read a base: the maker of a Resolver gives it only the readable bases.
package refs
