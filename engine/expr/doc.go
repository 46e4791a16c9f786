// Package expr compiles and evaluates the expressions of the definitions: event
// filters, transition and stop conditions, workflow conditions. The language is
// a pure subset of JavaScript: it reads values, but cannot write them, loop without end, draw
// random numbers or read a clock.
//
// You hold a [Program], made once per distinct text by [Compile] and shared by all
// callers. You provide an [Env] with the values of the roots.
//
// # Promises
//
//  1. The answer depends on the text and on the values of the Env. Object.keys is
//     sorted; nothing else shows the order of an object's keys.
//  2. Operators mean the same as in JavaScript, including undefined, NaN, == and
//     the UTF-16 length of text; a test compares with a JavaScript engine.
//     The exceptions are listed below.
//  3. Values of the Env are never written.
//  4. An evaluation ends: every node costs a step, text and lists cost steps by
//     their size, and exceeding the budget ([DefaultSteps]) is a limit error. The
//     same budget bounds the memory of an evaluation, and [MaxValues] that of its
//     result.
//  5. Compile refuses an expression outside the subset, with line, column and,
//     if there is one, the form to write instead. Nothing panics.
//  6. A Program is immutable and safe for concurrent use. An expression that
//     makes no text, list or object allocates nothing.
//
// # The subset
//
// Literals (null, booleans, numbers, text, templates, lists, objects, regular
// expressions), the roots, member and index access, optional chains, ?: && ||
// ?? ! - + * / % === !== == != < <= > >= in typeof, undefined NaN Infinity;
// text: includes startsWith endsWith indexOf slice at toLowerCase toUpperCase
// trim length; lists: includes indexOf slice at some every filter map length;
// arrow functions "x => expression" as the argument of the last four;
// /re/.test(text); Math.* without random; Array.isArray, Object.keys.
//
// # Numbers
//
// int64 and float64 are one kind of number. A computed number is int64 if it is
// integral and at most 2^53 in size, and float64 otherwise; integers beyond 2^53
// compare as the nearest float, as in JavaScript.
//
// # Not JavaScript
//
//   - Objects have only their own keys: there is no prototype, so "toString" in {}
//     is false and payload.constructor is undefined unless it was sent.
//   - Methods are not values: text.trim without a call is an error.
//   - Text never contains half a surrogate pair: a half becomes U+FFFD.
//   - Regular expressions run on RE2: no lookaround and no back references
//     (refused), "." is a whole character (as with flag u), flag y is refused.
//   - A root that the Env does not provide is undefined.
//
// Math functions beyond the four operations come from Go's library: equal on
// one processor architecture, and only nearly equal between two.
//
// # Not here
//
// Assignment, statements, own functions, regular expression captures, dates:
// use a script tool for them.
package expr
