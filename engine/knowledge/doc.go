// Package knowledge searches the knowledge bases of a scene, activates their entries
// and decides about writes. Agents share the bases and keep there what they learn
// (agent architecture §2.1.3, §2.1.5, §3.4).
//
// You hold a [State], a plain value: every base of a scene. You read it with
// [Base.Query] and [Base.Activate], and change it with
// [Decide] and [Apply]. You must give [Decide] the time, the author and the
// author's permissions.
//
// # Promises
//
//  1. A [Base] is immutable. A write makes a new one that shares the unchanged
//     parts, so a reader may keep its snapshot at no cost. The cost of a write is
//     logarithmic in the size of the base, spread over many writes.
//  2. Ranking is computed in integers and ends with the entry's id: equal bases
//     give equal answers on every machine, whatever the history of their writes.
//  3. A write that breaks a rule becomes a [Refused] fact with the reason;
//     it is never an error of the machine and changes nothing.
//  4. An entry that an agent writes is marked "agent_generated", with author and
//     times; the agent cannot set these itself.
//  5. Everything is bounded by the named limits. At a bound a write is refused, a
//     query returns fewer entries, and a reference leaves a marker.
//
// # Several scenes
//
// Of a base that scenes share, one scene decides: [State.Placed] says which. The others forward
// requests ([Forwarded]) and fold what it decided ([Told]); [State.Hears] says which scenes are
// told of a fact.
//
// # Search
//
// Text is split into words of letters and digits, in lower case, of which words of the
// letters a to z are reduced to English stems; a run of Chinese, Japanese or Korean
// characters is split into its characters and its pairs of neighbours. Stop words count
// only in a query that has no other words. Entries are ranked by BM25 (k1 1.2, b 0.75)
// over title and tags (twice), content and goal, and the entries before and after
// (0.4), times 1 + importance + use + recency. What cannot be among the best, entries
// and whole blocks of them, is left out unseen (package engine/knowledge/bound), which
// changes no answer.
//
// # Lessons
//
// A base with [Learning] merges the lessons of agents that say the same, shows those that
// fit a situation, and forgets the least of them. What an agent writes into a base that
// others read stands in no prompt of theirs by activation criteria or priority, unless it
// has the right to that: it waits for review.
//
// A condition in activation criteria is an expression of package engine/expr, and
// values print in text as in package engine/template; therefore this package
// imports the two.
//
// # Activation
//
// One walk over the text at hand finds the keywords of all entries of a layer; only the
// entries that they can make active, and those without keywords, are looked at.
//
// # Not here
//
// References in contents (package engine/knowledge/refs), vectors, files and permissions:
// permissions come with the request.
package knowledge
