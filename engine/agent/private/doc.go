// Package private owns the private state of an agent (agent architecture §2.3.2): an
// object of values, read and changed by path, with the state commands on it.
//
// A [State] is a value. The agents of a profile share one [Engine], which makes the
// next State: by a plain change, by state commands, or when values expire.
// [Lookup] and [Patch] read and change any object by path.
//
// # Promises
//
//  1. Arguments never change: only the objects and lists on a path are copied.
//  2. A change takes its value from the encoded form, and Apply takes it from the fact, so
//     a fold reaches the same State as the agent that decided it.
//  3. An agent that never uses state commands has nothing but its object.
//
// # Not here
//
// The tools that read and change the state, and their facts, are in engine/agent.
// Engine/statecmd carries out the commands.
package private
