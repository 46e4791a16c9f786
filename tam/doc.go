// Package tam reads and writes the Tavern Action Manifest: the blocks in which
// agents write their tool calls.
//
//	<|[REQUEST_TOOL]|>
//	command:»»»File.Write«««
//	file_path:»»»/logs/today.log«««
//	<|[END_TOOL]|>
//
// [Parse] takes the whole text of an answer and gives a [Result]: the prose, and
// the blocks with their steps, warnings and positions. [Result.Calls] turns the
// blocks that may run into calls; [Result.Problems] says what is wrong in words
// that a model can act on. [Reformat] writes the blocks of a text in the
// canonical form. Nothing is executed here. An answer is read whole, not while the model still writes it.
//
// # What you hold and owe
//
// Hand in the final channel of an assistant's answer and nothing else: no tool
// results, no reasoning that arrived separately. A marker in a tool result that is
// shown to a model has a zero-width joiner in it. Tell the parser when the provider
// cut the answer ([Options.Finish]).
//
// # Promises
//
//  1. Any text gives a result; bad text gives diagnostics, never an error and
//     never a panic.
//  2. The result depends on the text and the options alone.
//  3. A block runs only when it is complete, has a command and has no
//     diagnostic of severity error. A value that was cut by the end of the
//     text never runs.
//  4. Time is linear in the text, whatever the text.
//  5. A text means the same after Reformat.
//
// Less formally: a closer ends a value only where nothing but structure follows
// on its line, so values may hold delimiters, markers and whole blocks. When a
// value has no matching closer, the parser takes the most careful reading and
// reports it.
//
// # How it is built
//
// The lexer finds delimiters, keys and markers and pairs openers with closers on
// a stack; what it finds at a place depends on the line around it alone, never
// on the state of the parser. The walker goes over these tokens and decides
// where values and blocks end. When it must revise a decision it goes back to
// tokens that it already has: no byte is lexed twice.
//
// # Not here
//
// Whether a tool exists, what its parameters are and how texts become typed
// values (package bind). Idempotency of request ids, waiting for asynchronous
// results, retries and @{…} references: the executor implements these, and the result
// carries what it needs for them (see docs/formats/tam.md).
package tam
