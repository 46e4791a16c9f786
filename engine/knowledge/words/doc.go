// Package words finds what texts have in common: the terms of a text, by which entries of
// knowledge bases are searched (agent architecture §3.4), the keywords that occur in it,
// and how alike two texts are.
//
// Everything here is a pure function or immutable, but for [Stemmer], which one goroutine
// uses.
//
// # Promises
//
//  1. Equal texts give equal terms, keywords and prints on every machine.
//  2. Finding keywords costs the text, not the number of keywords.
//  3. [Alike] finds texts of the same words and letters. It does not know what words mean.
//
// # Not here
//
// Ranks, and what entries are: package engine/knowledge.
package words
