// Package bench measures the engine, and the limits of the same machine in the same
// run. Simd bench measures deliberations; ordinary benchmarks in the tests of this
// package measure the parts.
//
// Absolute times say little, because the machine may be shared. So every result
// includes the cost of the parts alone (a bare actor send, a msgpack round trip, a
// bare database batch of the same bytes), and the ratio is the figure to compare.
package bench
