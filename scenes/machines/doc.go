// Package machines is all machines of a scene, without the actors that they live
// in: the agenda, the world, the knowledge, the event channel, the agents.
//
// You hold a [State], made by [New] of what the scene is made of. A live scene
// (package scenes) spreads it over its actors; reading a journal
// (scenes/history) folds it; holding a history to its rules (scenes/verify) asks
// it to decide again. All three come here, so that none knows a rule that the
// others lack.
//
// # Two doors
//
//   - [State.Apply] folds one fact of the journal. It asks nobody.
//   - [State.Decide] has a service decide about the requests of a wave. The
//     services at work are [World], [Knowledge] and [Publishing]: they read a list
//     of requests ([Requests]) and give facts, a part at a time.
//
// # Promises
//
//  1. State is what folding the facts gives, whatever the place of the snapshot
//     ([State.Load]) that the fold began with.
//  2. There is no clock, chance, model or metric here; what a fact does to
//     anybody follows from the fact.
//  3. [State.Hash] is equal for equal states only.
package machines
