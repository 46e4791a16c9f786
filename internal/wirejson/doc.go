// Package wirejson reads the JSON of servers of models and of their clients, and writes JSON,
// without reflection: an answer costs about a seventh of what encoding/json takes for it.
//
// A [Reader] goes through a text once. The caller's functions name the fields that they
// want; all others are checked and passed over. What it accepts and what a text means is
// as with encoding/json, except that names of fields must be written exactly.
//
// [AppendText] and its like write the bytes that encoding/json writes with
// SetEscapeHTML(false).
package wirejson
