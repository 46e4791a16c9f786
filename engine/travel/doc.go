// Package travel keeps the tickets of a scene: for agents that travel between scenes, and for
// parcels of facts that scenes send each other. It keeps the scene's own tickets that have
// no answer yet, and which tickets of others the scene has taken.
//
// Linked scenes exchange letters ([Letter]). Each letter is an order of the scene that reads it
// (engine/order): [Arrive] brings an agent or a parcel, [Reach] and [Return] answer it. [State.Has] and
// [State.Trip] distinguish a repeated letter from a new one, so a letter may come any number of
// times.
//
// # Promises
//
//  1. The tickets from one scene to another are numbered 1, 2, 3 in the order in which the
//     agents and parcels leave. They are taken in this order.
//  2. A ticket is open from its departure until exactly one of its answers.
//  3. Of the tickets of another scene, a scene keeps one number, and the refused tickets that the
//     other scene has not yet reported as closed.
//
// # Not here
//
// When a scene may advance, and the delivery of letters (scenes/links).
package travel
