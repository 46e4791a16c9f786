// Package setup makes a scene of a project ready to run: definitions sealed,
// workflows compiled, agents counted, rules of the world and of the channel put
// together, everything that is shared made once.
//
// You hold a [Scene], made by [New]. It never changes and asks nobody, so the
// live scene, a fold of its journal and a walk that decides everything again
// share one. What does change is in scenes/machines.
//
// # Promises
//
//  1. The same project, scene and [Options] make the same Scene.
//  2. Agents have ordinals 0 to Size-1 in the order of the definition; the agent
//     that runs the scene's own workflows is the one behind them.
//  3. Memory per agent is its id, its class and its subscriber; what agents of a
//     class share is made once.
package setup
