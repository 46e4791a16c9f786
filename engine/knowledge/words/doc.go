// Package words finds the terms of a text, which index the entries of
// knowledge bases (agent architecture §3.4), the keywords in it,
// and the similarity of two texts.
//
// Everything here is a pure function or immutable, except [Stemmer], which one goroutine
// uses.
//
// # Promises
//
//  1. Equal texts give equal terms, keywords and prints on every machine.
//  2. Finding keywords costs the text, not the number of keywords.
//  3. [Alike] compares words and letters, not meanings.
//
// # Not here
//
// Ranks and entries: package engine/knowledge.
package words
