// Package models makes the models of a scene from the project's model files
// (docs/formats/model.md, docs/formats/providers.md) and the user's endpoints. A request
// names a model by its file: "thinker" is models/thinker.yaml.
//
// [Read] checks a file of any kind. [New] makes one provider of all of them; you must
// close it. The caller keeps the endpoints and closes them.
//
// # Promises
//
//  1. A scene whose models are all scripted gets the scripted model itself, which
//     answers at once.
//  2. If there are no endpoints at all, the script answers for every
//     model, and [Set.Tell] hears of each that is asked. If one endpoint is missing, New fails.
//  3. Values of a model file are the defaults of requests.
//  4. An answer of an endpoint has an origin with the hash of the request that the model read.
//  5. On the virtual clock an answer takes the time that the model file gives, not the
//     measured one, unless the file says `measured`.
//  6. An answer of an endpoint has its cost, if the endpoint has a price for the model (package
//     price). A recorded answer keeps its original cost.
//  7. Where recorded answers alone answer, and say what they cost, the bound of a request is that of the recorded run.
//
// # Not here
//
// The formats of endpoints, admission, budgets.
package models
