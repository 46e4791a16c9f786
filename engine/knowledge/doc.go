// Package knowledge is the machine of the knowledge bases: what agents know for
// longer than a turn, what they share, and what they learn (agent architecture
// §2.1.3, §2.1.5, §3.4).
//
// You hold a [State], a plain value: every base of a scene. You ask it with
// [Base.Query], [Base.Activate] and [Resolver.Text], and change it with
// [Decide] and [Apply]. You owe [Decide] the time, who asks and what they may.
//
// # Promises
//
//  1. A [Base] is immutable. A write makes a new one that shares what did not
//     change, so a reader keeps its snapshot for as long as it likes, at no cost.
//     A write costs the logarithm of the base, spread over many writes.
//  2. Ranking is computed in integers and ends in the entry's id: equal bases
//     give equal answers, whatever the history of their writes, on every machine.
//  3. A write that breaks a rule becomes a [Refused] fact with the reason;
//     it is never an error of the machine and changes nothing.
//  4. What an agent writes is marked "agent_generated", with author and times;
//     the agent cannot set these itself.
//  5. A reference that cannot be resolved leaves a visible marker and a warning.
//  6. Everything is bounded by the named limits; at a bound a write is refused, a
//     query gives fewer entries, a reference leaves a marker.
//
// # Search
//
// Text is split into words of letters and digits, in lower case; a run of
// Chinese, Japanese or Korean characters gives its characters and its pairs of
// neighbours. Nothing is stemmed and no word is left out. Entries are ranked by
// BM25 (k1 1.2, b 0.75) over title and tags (twice), content and goal. A
// condition in activation criteria is an expression of package engine/expr, and
// values print in text as package engine/template prints them; that is why this
// package imports the two.
//
// # Not here
//
// Vectors, files, and who may do what: permissions come in with the request.
package knowledge
