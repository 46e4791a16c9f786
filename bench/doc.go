// Package bench measures the engine through its public door, beside the limits
// of the same machine in the same run.
//
// Absolute times say little: the machine is shared, or will be. So every result
// carries what the parts cost alone (a bare actor send, a msgpack round trip, a
// bare database batch of the same bytes), and the ratio is the figure to keep.
package bench
