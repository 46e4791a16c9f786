// Package anthropic asks models through the messages interface.
//
// [New] makes the provider of one model at one endpoint. The caller owns the
// endpoint, and closes it after the provider.
//
// The protocol has other rules than a request of the engine. A request that it cannot
// express fails with llm.OutcomeBadRequest and is not sent:
//
//   - Messages with RoleSystem are joined to the system text, wherever they stand. With
//     nothing else it is sent as a user's message. The first other message must be a
//     user's.
//   - Messages of one side that follow each other become one, the results of tools
//     before its texts. Arguments that are no JSON object are shown to the model as
//     {"arguments": text}.
//   - max_tokens is always sent: the request's, or 1024.
//   - A temperature above 1 is refused. A seed is not sent, because there is none.
//   - The effort is a share of max_tokens for thinking: 1024 tokens for minimal, else a
//     quarter, a half, three quarters, at least 1024. It is refused if max_tokens does
//     not leave room for an answer, with a temperature other than 1, and where a call is
//     required. A request that answers calls is made without thinking: the protocol
//     wants signatures of earlier thoughts, and messages do not keep them.
//   - A JSON answer is asked for as the parameters of a tool of its own, by the schema
//     if there is one. With other tools the model chooses between a call and the answer.
//
// The tools and the system text are marked for the endpoint's cache. A refusal is an
// answer with protocol.FinishFiltered, not a failure.
//
// # Not here
//
// Retries, rates, prices, counting of tokens before a request, batches.
package anthropic
