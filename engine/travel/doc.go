// Package travel is what a scene keeps of agents that go to another scene and come from
// there, and of parcels of facts that scenes tell each other: the tickets of its own that have
// no answer yet, and which tickets of others it has taken.
//
// Between two linked scenes go letters ([Letter]), each an order of the scene that reads it
// (engine/order): [Arrive] brings an agent or a parcel, [Reach] and [Return] answer it. [State.Has] and
// [State.Trip] tell a letter that came before from a new one, so it may come any number of
// times.
//
// # Promises
//
//  1. The tickets from one scene to another are numbered 1, 2, 3 in the order in which the
//     agents and parcels left, which is the order in which they are taken.
//  2. A ticket is open from its departure until exactly one of its answers.
//  3. What is kept of the tickets of others is one number, and the refused ones which the
//     other scene has not closed, as far as it has said.
//
// # Not here
//
// When a scene may go on in time, and how letters come to it (scenes/links).
package travel
