// Package metrics contains the Prometheus collectors of the program, with the
// names, labels and units of docs/metrics.md.
//
// # What you hold and owe
//
// A [Set] belongs to a process, a [Scene] to one scene in it; both are made
// once and may be used from any goroutine. Values that can be read at any time
// (mailbox depths, agents by state, the database) are not counted: [Set.Watch]
// takes sources that are read at each scrape, and you must stop it before a source
// is closed.
//
// # Promises
//
//  1. Counting costs a look-up and an atomic addition: no lock, no allocation,
//     labels resolved once. A [Profile] handle saves the look-up. Histograms
//     cost two to three times that.
//  2. Every counter with known label values has the value 0 from the start.
//  3. Cardinality is bounded. No label contains an agent or event id, and a run only
//     in a set that is [ByRun], until [Run.Forget]. A label
//     whose values come from a project takes [MaxValues] of them; further values
//     are counted as "__other__", and simd_metrics_label_overflow_total
//     counts them. Values that a model can invent (event types, tools) are
//     "other" unless [Scene.Declare] named them.
//
// # Not here
//
// The server of a set over HTTP (internal/metrics/scrape).
//
// Replay: folding a journal counts nothing, so machines and their fold
// functions never import this package. [Set.Replayed] is the one exception, and
// the caller of the fold calls it.
package metrics
