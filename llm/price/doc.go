// Package price computes the costs of model answers. It is pure: prices are data, and a
// cost is computed from a price and tokens.
//
// Costs are whole nano-dollars (1e-9 $). [Make] gives the prices of an endpoint:
//
//  1. the user's own (`prices` of the endpoint in providers.yaml);
//  2. nothing, if the endpoint is free;
//  3. the list of the endpoint's preset, prices.yaml of this package.
//
// Within a list a price for the model's full name has precedence, then one for the name without
// its date (`-2025-08-07`, `-20250807`, `-latest`), then the matching pattern with * that has
// the most other characters, and of several such the first in byte order.
//
// # Promises
//
//  1. A model without a price has none; that is not 0, which is free.
//  2. No token is charged twice: tokens of a cache are part of the input, tokens of reasoning
//     of the output.
//  3. The cost of a request is rounded up to a whole nano-dollar, once. It is never
//     negative and never overflows: it saturates at the largest int64.
//  4. More tokens never cost less, and no request with at most so many tokens costs more
//     than [Price.Bound].
//
// # Not here
//
// Budgets, currencies other than the dollar, prices that depend on the time, and the cost of repeated
// requests.
package price
