// Package modelfile reads single model files of a project
// (docs/formats/model.md, docs/formats/providers.md).
//
// # Not here
//
// References between files, and the providers that answer (llm/models).
package modelfile
