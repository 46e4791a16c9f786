// Package expr compiles and evaluates the expressions of the definitions: event
// filters, transition and stop conditions, workflow conditions. The language is
// a pure subset of JavaScript: it reads, and cannot write, loop for ever, draw
// chance or see a clock.
//
// You hold a [Program], made once per distinct text by [Compile] and shared by
// everyone. You owe an [Env] that gives the values of the roots.
//
// # Promises
//
//  1. The answer depends on the text and on what the Env gives. Object.keys is
//     sorted; nothing else shows the order of an object's keys.
//  2. Operators mean what they mean in JavaScript, undefined, NaN, == and the
//     UTF-16 length of text included; a test compares with a JavaScript engine.
//     The exceptions are listed below.
//  3. What the Env gave is never written.
//  4. An evaluation ends: every node costs a step, text and lists cost steps by
//     their size, and the budget ([DefaultSteps]) is a limit error. Memory that
//     an evaluation can claim is bounded by the same budget, and by [MaxValues]
//     for its result.
//  5. What is outside the subset is refused by Compile with line, column and,
//     where there is one, what to write instead. Nothing panics.
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
// int64 and float64 are one kind of number. What an expression computes is
// int64 when it is integral and at most 2^53 in size, and float64 otherwise;
// integers beyond 2^53 compare as the nearest float, as in JavaScript.
//
// # Not JavaScript
//
//   - Objects have their own keys only: no prototype, so "toString" in {} is
//     false and payload.constructor is undefined unless it was sent.
//   - Methods are no values: text.trim without a call is an error.
//   - Text never holds half a surrogate pair: a half becomes U+FFFD.
//   - Regular expressions run on RE2: no lookaround and no back references
//     (refused), "." is a whole character (as with flag u), flag y is refused.
//   - A root that the Env does not give is undefined.
//
// Math functions beyond the four operations come from Go's library: equal on
// one processor architecture, and only nearly so between two.
//
// # Not here
//
// Assignment, statements, own functions, regular expression captures, dates:
// a script tool is for those.
package expr
