// Package memory holds an agent's episodes, its memory of its own turns, and decides when the
// agent reflects by rule (agent architecture §2.1.5).
//
// You hold a [Mind], a plain value that never changes, and the [Rules] of its profile. The
// agent's machine gives it the facts of a turn in their order ([Mind.Note], [Mind.Heard],
// [Mind.End]), as a fold does. A turn asks it for the episodes that fit a text ([Mind.Recall], [Mind.Query])
// and whether to reflect ([Mind.Trigger], [Mind.MayReflect]).
//
// # Episodes
//
// A turn that did something leaves one [Episode], a text made of its facts: speech to
// the agent, its own speech and calls, and its goals that ended. A rule gives the importance: a goal
// ended 6, something failed 4, first meeting 3, spoken to 2, else 1. Rank is that of knowledge
// bases (package engine/knowledge/score): BM25 of the text and, at 0.4, of the episodes before
// and after it, times 1 + importance/10 + recency.
//
// # Promises
//
//  1. A Mind depends on the facts and the rules alone: a fold reaches the same one.
//  2. It has at most Keep episodes; beyond that the one of the lowest rank is dropped, never the
//     newest. Every text in it is bounded.
//  3. An episode without a common word is not recalled; of equal ranks the newer episode is first.
//  4. It begins no reflection before MinInterval has passed, and at most MaxPerDay in a day
//     of the scene (UTC), even if a call of the agent asks for one.
//  5. An agent without Rules has a nil Mind, which costs nothing.
//
// # Not here
//
// Workflows of reflections (package engine/agent), files (package engine/agent/profile).
package memory
