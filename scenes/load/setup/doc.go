// Package setup prepares a scene of a project for running: it seals definitions,
// compiles workflows, counts agents, combines the rules of the world and of the
// channel, and makes everything that is shared once.
//
// You hold a [Scene], made by [New]. It is immutable and makes no requests, so the
// live scene, a fold of its journal and a verification share one. The changing
// state is in scenes/machines.
//
// # Promises
//
//  1. The same project, scene and [Options] make the same Scene.
//  2. Agents have ordinals 0 to Size-1 in the order of the definition; the agent
//     that runs the scene's own workflows has the next ordinal.
//  3. Memory per agent is its id, its class and its subscriber; everything that
//     agents of a class share is made once.
package setup
