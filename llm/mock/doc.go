// Package mock is a model server without a model: it speaks the wire
// forms of real servers, answers by a script, and produces the faults of bad servers.
// Tests of clients use it in their process, "simd mock-llm" as a process.
//
// You hold a [Server], made by [New], and give it to an http.Server ([Server.HTTP]
// makes one with bounds). It answers POST chat/completions, messages and embeddings,
// GET models, models/NAME, metrics and requests, each also below /v1. It needs no
// Close. docs/mock-llm.md describes faults and forms.
//
// # Promises
//
//  1. The content of an answer depends on the script, the seed and the question
//     alone: the path and the bytes of the body. Order, time and other requests
//     do not change it.
//  2. Fault and latency depend on these and on the attempt: how often the same
//     question came before, or the header X-Attempt. So a fault ends
//     after enough attempts. Two requests with equal bytes at
//     the same moment share their attempts in the order of arrival.
//  3. An invalid body is answered with 400 and the place.
//     No request makes the server panic.
//  4. The memory of the server is bounded: counts of 262,144 questions, then the
//     older half is forgotten (their attempts begin again); 64 requests with 16 KiB
//     of their body each; bodies of 16 MiB; 100,000 requests at once, then 503.
//  5. The key is in no answer, count or record. Every request except metrics needs it.
//
// Only the limits of requests and tokens a minute depend on time and order.
//
// # Not here
//
// TLS, other protocols, and whether an answer keeps to a JSON Schema.
package mock
