// Package wirejson reads and writes the JSON of model servers without reflection: reading an
// answer costs about a seventh of encoding/json.
//
// A [Reader] goes through a text once. The caller's functions name the fields that they
// want; all others are checked and skipped. It accepts and reads JSON as
// encoding/json does, except that names of fields must match exactly.
//
// [AppendText] and its like write the bytes that encoding/json writes with
// SetEscapeHTML(false).
package wirejson
