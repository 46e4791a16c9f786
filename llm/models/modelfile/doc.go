// Package modelfile reads the model files of a project, one file by itself
// (docs/formats/model.md, docs/formats/providers.md).
//
// # Not here
//
// What files say of each other, and what answers in their place (llm/models).
package modelfile
