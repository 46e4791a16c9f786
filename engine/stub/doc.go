// Package stub has the parts of files of canned answers: matched values,
// value templates and the choice by weight. The scripted model and the mock of tools use
// such files.
//
// A [Compiler] reports every fault with its path, and continues. Its results, and
// everything else here, are immutable.
//
// # Not here
//
// The files, their rules and the form of an answer: llm/scripted and tools/toolmock.
package stub
