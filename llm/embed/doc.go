// Package embed gives texts their vectors: by a model at an endpoint ([New]), by a provider in its
// place ([By]), or by a file of word vectors ([Read]). Both are providers of requests with the purpose
// protocol.PurposeEmbed: each message is a text, and the text of the answer has their vectors,
// as vector.Pack writes them.
//
// # Promises
//
//  1. The same text and the same model give the same vector, which is asked for once in the
//     life of an [Endpoint]: another caller that asks for it meanwhile waits for that answer, and
//     gets the same, with the same count of tokens. The newest [MaxKept] answers are kept; a failure is not.
//  2. A [Words] computes: whole numbers, on every machine the same, without network and key.
//
// # Not here
//
// Gates, repetitions, prices, recorded answers and the store (llm/models and what it uses).
package embed
