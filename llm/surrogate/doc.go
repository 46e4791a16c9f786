// Package surrogate finds, among recorded decisions, the one whose situation is nearest
// to a request.
//
// [New] makes an [Index] of the entries of a cassette that have a situation
// (simd cassette export --situations). An Index is immutable and safe for concurrent use.
//
// # Promises
//
//  1. The nearest decision depends on the set of entries and on the request, not on the
//     order of the entries: of two at one distance it takes the first by scene, agent, turn and
//     number.
//  2. Only decisions of the same profile and purpose count, and no failures.
//  3. Distances are computed in integers: 0 (the same words) to 1000 (no word in common).
//
// # How
//
// A situation is a bag of words; each character of a script without spaces is a word.
// Rare words weigh more. The distance is 1 minus the cosine of two bags, in thousandths.
// A search costs the entries that share a word with the request.
//
// # Not here
//
// Whether a decision at this distance may answer, and which model answers otherwise.
package surrogate
