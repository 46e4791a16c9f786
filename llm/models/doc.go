// Package models makes the models of a scene out of the project's model files
// (docs/formats/model.md, docs/formats/providers.md) and the user's endpoints. A request
// names a model by its file: "thinker" is models/thinker.yaml.
//
// [Read] checks a file of any kind. [New] makes one provider of all of them; you must
// close it. The endpoints stay the caller's.
//
// # Promises
//
//  1. A scene whose models are all scripted gets the scripted model itself, which
//     answers at once.
//  2. If there are no endpoints at all, the script answers in the place of every
//     model, and [Set.Notes] says so. If one endpoint is missing, New fails.
//  3. What a model file sets holds for requests that do not set it.
//  4. An answer of an endpoint has an origin with the hash of what the model read.
//  5. On the virtual clock an answer takes the time that the model file says, not what
//     it took, unless the file says `measured`.
//  6. An answer of an endpoint has its cost, if the endpoint has a price for the model (package
//     price). One that was recorded keeps what it cost then.
//
// # Not here
//
// The formats of endpoints, admission, budgets.
package models
