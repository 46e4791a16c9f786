// Package space is the machine of the service that owns the positions of agents: a grid with
// blocked cells and named places, the cell of each agent, and the walks of agents
// (docs/formats/space.md).
//
// A [Map] is a compiled block [Definition]. A [State] is a value over a map:
// [State.Decide] takes the requests of a moment in their order, then moves the agents
// whose step is due, and returns facts that the state has folded; [State.Apply] folds the
// facts of a history. [State.Share] gives a [View], which later decisions do not change.
//
// # Promises
//
//  1. No agent walks more than speed cells in a tick, or onto a blocked cell. Only an actor
//     that may direct the scene puts an agent elsewhere at once.
//  2. A cell never holds more agents than grid.capacity, and a place never more than its
//     capacity.
//  3. The agents near an agent are those in the square of the radius around it. The index
//     finds the same ones as a search of all agents.
//  4. Equal maps, starts and facts make equal states, whatever the order in which the facts
//     were decided. A snapshot and the facts after it give the same state, byte for byte.
//  5. The cost of a step depends on the number of agents that walk, and the cost of a look on
//     the number of agents nearby, not on the number of all agents.
//
// # Not here
//
// The mailbox, the view of a turn (scenes/machines), the tools (engine/agent), which
// receivers an event has (engine/bus), the names of agents (scenes/load/setup).
package space

// Service is the name of the service.
const Service = "space"
