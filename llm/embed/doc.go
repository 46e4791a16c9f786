// Package embed gives texts their vectors: from a model at an endpoint ([New]), from a provider that
// replaces it ([By]), or from a file of word vectors ([Read]). All are providers of requests with the purpose
// protocol.PurposeEmbed: each message is a text, and the text of the answer has their vectors,
// as vector.Pack writes them.
//
// # Promises
//
//  1. The same text and the same model give the same vector. An [Endpoint] asks for it once:
//     another caller that needs it meanwhile waits for that answer, and
//     gets the same, with the same count of tokens. The newest [MaxKept] answers are kept; failures are not.
//  2. A [Words] computes integers, equal on every machine, without network and key.
//
// # Not here
//
// Gates, repetitions, prices, recorded answers and the store (llm/models and what it uses).
package embed
