// Package gate admits requests to an endpoint. Package limit decides which of them may
// leave and when; a [Gate] is its lock and its one timer.
//
// A program makes one gate for each endpoint and key, and all scenes of the process
// share it. A request that waits is a value, a [limit.Call]; the gate has no goroutine for
// it. The caller of [Gate.Enter] calls [Gate.End] after every
// attempt. It must call [Gate.Leave] when it no longer waits for a call.
//
// # Promises
//
//  1. A call that entered is released or refused, unless Leave withdraws it.
//     It is refused at the latest when its patience is over.
//  2. There are never more attempts between Released and End than the limit of the
//     moment, and never more released in a minute than the rates allow.
//  3. After End has returned true, promise 1 holds again for the same call.
//
// # Not here
//
// The time-out of an attempt, and the endpoint itself.
package gate
