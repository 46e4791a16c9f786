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
// One scene decides about a base that several scenes share: [State.Placed] says which. The others forward
// requests ([Forwarded]) and fold its decisions ([Told]); [State.Hears] says which scenes get
// a fact.
//
// # Search
//
// Text is split into words of letters and digits, in lower case. Words of the
// letters a to z are reduced to English stems; a run of Chinese, Japanese or Korean
// characters is split into its characters and its pairs of neighbours. Stop words count
// only in a query that has no other words. Entries are ranked by BM25 (k1 1.2, b 0.75)
// over title and tags (twice), content and goal, and the entries before and after
// (0.4), times 1 + importance + use + recency. A search skips entries, and whole blocks
// of them, that cannot be among the best (package engine/knowledge/bound); this
// changes no answer.
//
// # Lessons
//
// A base with [Learning] merges equal lessons of agents, shows those that
// fit a situation, and archives the ones of lowest rank. An agent needs a permission to place
// its entry in the prompts of others by activation criteria or priority; without it the
// entry waits for review.
//
// A condition in activation criteria is an expression of package engine/expr, and
// values print in text as in package engine/template; therefore this package
// imports the two.
//
// # Activation
//
// One walk over the text at hand finds the keywords of all entries of a layer. Only the
// entries that these can activate, and those without keywords, are examined.
//
// # Not here
//
// References in contents (package engine/knowledge/refs), vectors, files and permissions:
// permissions come with the request.
package knowledge
