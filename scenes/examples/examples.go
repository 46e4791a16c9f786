// Package examples holds the example projects. They are also the templates of
// simd init.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed */*
var projects embed.FS

// Projects is a folder for each example, by its name.
func Projects() fs.FS { return projects }
