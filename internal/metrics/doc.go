// Package metrics holds the Prometheus collectors of the program, with the
// names, labels and units of docs/metrics.md, and the small HTTP server that
// shows them.
//
// # What you hold and owe
//
// A [Set] belongs to a process, a [Scene] to one scene in it; both are made
// once and counted into from anywhere. What can be read where it lies (mailbox
// depths, agents by state, the database) is not counted: [Set.Watch] takes
// sources that are asked at each scrape, and you owe its stop before a source
// is closed. [Listen] returns a [Server]; you owe its Close.
//
// # Promises
//
//  1. Counting costs a look-up and an atomic addition: no lock, no allocation,
//     labels resolved once. A [Profile] handle saves the look-up. Histograms
//     cost two to three times that.
//  2. Every counter whose label values are known stands at 0 from the start.
//  3. Cardinality is bounded. No label holds an agent, run or event id. A label
//     whose values come from a project takes [MaxValues] of them; what comes
//     after is counted as "__other__", and simd_metrics_label_overflow_total
//     says so. Values that a model can invent (event types, tools) are "other"
//     unless [Scene.Declare] named them.
//  4. Histograms are classic and native at once: a scraper that asks for the
//     protobuf format gets both, every other one the fixed buckets.
//  5. After [Server.Close] and the stop of Watch nothing of this package runs.
//
// # Not here
//
// Replay: folding a journal counts nothing, so machines and their fold
// functions never see this package. [Set.Replayed] is the one exception, and
// the caller of the fold makes it.
package metrics
