// Package examples holds the example projects. They are also the templates of
// simd init.
package examples

import (
	"embed"
	"io/fs"
)

// By names, since a pattern takes hidden files, too.
//
//go:embed assistant auction commons council debate harbour hello herbalist market rpg town workshop
var projects embed.FS

// Projects is a folder for each example, by its name.
func Projects() fs.FS { return projects }
