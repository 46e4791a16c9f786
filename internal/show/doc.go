// Package show writes views of runs as text for people.
//
// Package scenes/view gives views as values. A [Scene] holds what the pages of one scene
// share: the outputs, the start of its time, whether to write JSON. Each of
// its methods writes one view. Views that are lists are a [List], which [Lines] shows while
// it is read. [Run] and [Comparison] need no scene.
//
// # Promises
//
//  1. The page, or the JSON of the view, goes to Out, notes about it to Err.
//  2. A list of any length takes the memory of one batch of rows.
//  3. Texts of agents, models, tools and files on a page cannot control a terminal, even if the
//     page goes through a pipe first.
//
// # Not here
//
// Arguments, flags, exit codes (cmd/simd); the contents of views (scenes/view); which
// characters control a terminal (internal/terminal, which all terminal output passes).
package show
