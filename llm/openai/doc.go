// Package openai asks models through the chat completions interface, which most services
// and most inference servers have. Their differences are data ([endpoint.Dialect]).
//
// [New] makes the provider of one model at one endpoint. The caller owns the
// endpoint, and closes it after the provider.
//
// Requests are streamed if the options say so; the answer is the same. Arguments of
// calls that are no JSON object, or hold a number that no value can, come back as [protocol.Call.Broken], and are sent as
// {"arguments": text}. The provider fills in missing ids of calls, and missing counts of tokens,
// which are then marked as estimated.
// A refusal is an answer with protocol.FinishFiltered, not a failure; so is an answer that a filter
// of the server stopped.
//
// [Embedder] turns texts into vectors (/embeddings). An answer must have one vector for each
// text, all with the same dimensions; its failures are those of a chat.
//
// # Not here
//
// Embeddings, retries, rates, prices.
package openai
