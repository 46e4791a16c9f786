// Package calls carries out the model calls of a scene that take time.
//
// A [Runner] has so many slots; a call waits for one, then for the model, and
// ends with the deliberation that asked. What leaves goes through the scene's log
// of effects (scenes/effects), so that an answer that was kept before a kill is
// given again without a call.
//
// # Limits
//
// A call ends after the time that its node allows, 10 minutes where it says
// nothing. A provider that does not return when its time is over keeps its
// goroutine: there are never more of these than slots, and while there are that
// many, calls are refused as transient.
package calls
