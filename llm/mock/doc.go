// Package mock is a server of language models that has none: it speaks the wire
// forms of real servers, answers by a script, and does on purpose what bad servers
// do. Tests of clients use it in their process, "simd mock-llm" as a process.
//
// You hold a [Server], made by [New], and give it to an http.Server ([Server.HTTP]
// makes one with bounds). It answers POST chat/completions, messages and embeddings,
// GET models, models/NAME, metrics and requests, each also below /v1. It holds nothing that has
// to be closed. docs/mock-llm.md describes faults and forms.
//
// # Promises
//
//  1. The content of an answer depends on the script, the seed and the question
//     alone: the path and the bytes of the body. Order, time and other requests
//     do not change it.
//  2. Fault and latency depend on these and on the attempt: how often the same
//     question came before, or what the header X-Attempt says. So a fault passes
//     when the question is asked often enough. Two requests with equal bytes at
//     the same moment share their attempts in the order of arrival.
//  3. A body that is not what was expected is answered with 400 and the place.
//     No request makes the server panic.
//  4. What the server keeps is bounded: counts of 262,144 questions, then the
//     older half is forgotten (their attempts begin anew); 64 requests with 16 KiB
//     of their body each; bodies of 16 MiB; 100,000 requests at once, then 503.
//  5. The key is in no answer, count or record. Everything but metrics wants it.
//
// The limits of requests and tokens a minute alone depend on time and order.
//
// # Not here
//
// TLS, other protocols, and whether an answer keeps to a JSON Schema.
package mock
