// Package stub has what files of canned answers are made of: wanted values,
// value templates and the choice by weight. The scripted model and the mock of tools are
// such files.
//
// A [Compiler] reports every fault with the steps that lead to it, and compiles on. What
// it made, and all else here, is immutable.
//
// # Not here
//
// The files, their rules and what an answer is: llm/scripted and tools/toolmock.
package stub
