// Package template compiles the text templates of prompts, answers and
// parameters: the language of text/template, reduced to what is safe and repeatable
// over values.
//
// Compile a template once, at load, and execute it as often as you like, on any
// number of goroutines. There is nothing to close; a [Template] is immutable. Data
// are values of package protocol and are only read.
//
// # Promises
//
//  1. Equal template, equal data and equal state give equal text. Objects are
//     walked in the byte order of their keys.
//  2. A missing name is an error that lists the existing names, never
//     "<no value>". `default` and `get` allow a value to be missing.
//  3. A value prints as itself if it is text and as JSON otherwise.
//  4. Numbers compare as numbers: 1 equals 1.0.
//  5. Execution ends: no range over a number, at most [MaxSteps] rounds of all
//     ranges together, at most [MaxOutput] bytes of output and of any text that
//     a function makes, at most [MaxMade] bytes of all that functions make.
//  6. Unknown functions, wrong numbers of arguments and, if the roots are
//     known, unknown roots are errors of Compile, with line and column.
//
// # Differences from text/template
//
// There is no define, template or block; no call, html, js, urlquery. The
// comparisons, len, index, slice, not and the print family are those of this
// package (std). "{{{key}}}" is read as {{ref "key"}}: provide a function named
// ref in places that allow dynamic references.
//
// Parsing is text/template/parse. Execution is a compiler to closures of this
// package, 8 to 25 times faster than text/template, because every deliberation uses
// templates. A property test compares it with text/template on the same tree.
//
// # Not here
//
// Files, includes, chance and time. A caller that needs chance passes functions
// ([Funcs]) and their state ([Template.AppendFrom]).
package template
