// Package tavernsim is the root of the simd module, an engine that runs large
// multi-agent simulations without a user interface. It contains no code, only the
// tests that compare the documentation and the floors with the code. Start with
// ARCHITECTURE.md.
package tavernsim
