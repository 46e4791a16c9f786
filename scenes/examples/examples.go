// Package examples holds the example projects. They are also the templates of
// simd init.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed assistant auction commons council rpg hello herbalist market harbour debate workshop town
var projects embed.FS

// Projects is a folder for each example, by its name.
func Projects() fs.FS { return projects }
