// Package template compiles the text templates of prompts, answers and
// parameters: the language of text/template, cut to what is safe and repeatable
// over values.
//
// You compile a template once, at load, and execute it as often as you like, on
// any number of goroutines. You hold nothing; a [Template] is immutable. Data
// are values of package protocol and are only read.
//
// # Promises
//
//  1. Equal template, equal data, equal state: equal text. Objects are walked
//     in the byte order of their keys.
//  2. What is named and missing is an error that says what there is, never
//     "<no value>". `default` and `get` are the ways to expect a gap.
//  3. A value prints as itself when it is text and as JSON otherwise.
//  4. Numbers compare as numbers: 1 equals 1.0.
//  5. Execution ends: no range over a number, at most [MaxSteps] rounds of all
//     ranges together, at most [MaxOutput] bytes of output and of any text that
//     a function makes, at most [MaxMade] bytes of all that functions make.
//  6. Unknown functions, wrong numbers of arguments and, where the roots are
//     known, unknown roots are errors of Compile, with line and column.
//
// # What is different from text/template
//
// No define, template and block; no call, html, js, urlquery; the comparisons,
// len, index, slice, not and the print family are the ones of this package
// ([Std]). "{{{key}}}" is read as {{ref "key"}}: give a function named ref where
// dynamic references make sense.
//
// Parsing is text/template/parse; execution is a compiler to closures of this
// package, 8 to 25 times faster, because templates stand in every deliberation.
// A property test holds it to what text/template makes of the same tree.
//
// # What is not here
//
// Files, includes, chance and time. A caller that wants chance passes functions
// ([Funcs]) and their state ([Template.AppendFrom]).
package template
