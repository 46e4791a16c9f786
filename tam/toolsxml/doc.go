// Package toolsxml reads ToolsXML, the tag form in which agents ask
// for shell commands, file edits, file reads and secret values.
//
//	<tools>
//	  <command>npm test && npm run build</command>
//	  <read><file src="package.json"/></read>
//	</tools>
//
// It looks like XML and is not: models write raw shell and raw source code
// between the tags, so an XML parser fails on the first "&&". [Parse] treats the
// text as tag-delimited raw text and gives a [Result]: the prose, the tools in
// document order, and what was wrong with them in words that a model can act on.
// [Result.Calls] turns the tools that may run into calls. [Show] underlines the
// problems in the source for people. Nothing is executed here.
//
// # What you hold and owe
//
// Hand in the final channel of an assistant's answer and nothing else: no tool
// results, no reasoning that arrived separately. Say in [Options.Finish] why the
// provider stopped. Run only tools whose Executable is set, in the order of [Plan],
// and report results in document order.
//
// # Promises
//
//  1. Any text gives a result; bad text gives diagnostics, never an error and
//     never a panic.
//  2. The result depends on the text and the options alone.
//  3. A tool runs only when nothing about it is of severity error. A tool that
//     was cut by the end of the text never runs, and neither do the tools that
//     were closed before it in the same root.
//  4. A tag outside a <tools> root never runs.
//  5. Values are never rewritten by guesswork: entities are decoded for a whole
//     value or not at all, $KARYI{NAME} is found and listed, never replaced.
//  6. Time is linear in the text, whatever the text. Results are bounded by the
//     Max constants; each says what happens beyond it.
//
// # How it is built
//
// One pass finds the known tags wherever they stand. Two passes over these marks
// (never over the text) note for every raw-text opener where its value can end.
// The parser then walks from element to element and looks nothing up that is not
// already noted; what it must search for in the text it searches for forwards,
// and never twice over the same bytes.
//
// # What executors owe (not here)
//
// command: the content is a script for the session's one persistent shell, whose
// variables and directory survive; feed it as a script, not line by line into
// the terminal, so that standard input stays free for input. A time-out is the
// status running, not a failure.
//
// input, ctrl: write Content, or Bytes where it is set, to the terminal as it is;
// nothing is appended, escapes are already decoded, so a secret that is put in
// afterwards is not decoded.
//
// edit: a file's pairs apply in order to its current text, all or none. Try Find;
// when it is nowhere, try FindOther with ReplaceOther, and record which matched.
// Find must match once, unless All or Nth says otherwise. An empty Find is an
// error, except on a missing or empty file, which it creates. Line ends are
// always "\n" here; the file keeps its own.
//
// read: a path may name a file or a directory, with or without a slash.
//
// get_value: ask the user, suspend the agent, never echo the value. The name can
// be used from the next round on; tools of the same answer that use it arrive
// here as not executable.
//
// Secrets: [Tool.Secrets] are the references in the texts of a tool. Hand values over by environment where a shell is concerned, and never
// parse or search the text again after a value went in. An escaped reference
// ($$KARYI{) loses its first dollar sign. Log the form before substitution.
package toolsxml
