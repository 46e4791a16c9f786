// Package show writes views of runs as text for people.
//
// Package scenes/view gives views as values. A [Scene] holds what the pages of one scene
// share: where they go, since when its time counts, whether the reader wants JSON. Each of
// its methods writes one view. Views that are lists are a [List], which [Lines] shows while
// it is read. [Run] and [Comparison] need no scene.
//
// # Promises
//
//  1. The page, or the JSON of the view, goes to Out, what is said beside it to Err.
//  2. A list of any length takes the memory of one batch of rows.
//  3. No text of agents, models, tools and files that a page shows can steer a terminal, also if the
//     page goes through a pipe first.
//
// # Not here
//
// Arguments, flags, exit codes (cmd/simd); what a view finds (scenes/view); which
// characters steer a terminal (internal/terminal, which everything on a terminal passes).
package show
