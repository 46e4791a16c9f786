// Package tavernsim is the root of the simd module: an engine that runs large
// multi-agent simulations headless. It holds no code, only the test that
// guards the floors. Start with ARCHITECTURE.md.
package tavernsim
