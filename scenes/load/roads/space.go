package roads

import (
	"tavernsim/engine/space/ground"
	"tavernsim/internal/source"
)

// SpaceRules are those of the map of a scene.
func SpaceRules() source.Rules {
	const section = "§2.3"
	between := func(low, high float64) *source.Range { return &source.Range{Min: low, Max: high} }
	side := between(1, ground.MaxSide)
	return source.Rules{
		"ground.Definition.grid":       {Section: section, Doc: "The cells. Without them places are joined by exits."},
		"ground.Definition.places":     {Section: section, MaxItems: ground.MaxPlaces, Doc: "Rectangles of cells, by their names, which do not overlap; without a grid, places that exits join."},
		"ground.Definition.perception": {Section: section, Doc: "What reaches only who is near."},
		"ground.Definition.speed":      {Section: section, Range: between(1, ground.MaxSpeed), Default: int64(1), Doc: "Cells that an agent walks in a tick, at most. Without a grid it is refused: an exit takes its own time."},
		"ground.Grid.width":            {Required: true, Section: section, Range: side, Doc: "Cells from west to east; x is 0 in the west."},
		"ground.Grid.height":           {Required: true, Section: section, Range: side, Doc: "Cells from north to south; y is 0 in the north."},
		"ground.Grid.blocked":          {Section: section, Doc: "File of the project with a line for each row, in it `#` for a blocked cell and `.` for a free one. Without it all are free."},
		"ground.Grid.cell":             {Section: section, Doc: "What the side of a cell is, for readers, such as `1m`."},
		"ground.Grid.capacity":         {Section: section, Range: between(1, 1_000_000), Doc: "Agents in one cell, at most. Default: any number."},
		"ground.Place.at":              {Section: section, MaxItems: 2, Doc: "x and y of its north-western cell, required on a grid; without one, where the map is drawn has the place there."},
		"ground.Place.size":            {Section: section, MaxItems: 2, Doc: "Width and height in cells. Default: one cell. Only on a grid."},
		"ground.Place.capacity":        {Section: section, Range: between(1, 1_000_000), Doc: "Agents in the place, at most. Default: any number."},
		"ground.Place.exits":           {Section: section, MaxItems: ground.MaxExits, Doc: "Without a grid: the places that its exits lead to, and the time that takes, up to 7 days. An exit leads one way."},
		"ground.Perception.radius":     {Section: section, Range: between(0, ground.MaxRadius), Default: int64(0), Doc: "Who is at most so many cells away, also diagonally, is near. 0: who stands in the same cell. Only on a grid."},
		"ground.Perception.types":      {Section: section, MaxItems: ground.MaxTypes, Doc: "Types of events that reach only who is near their publisher; `a.b.*` is every type below a.b."},
		"ground.Perception.exits":      {Section: section, Range: between(0, ground.MaxHops), Default: int64(0), Doc: "Without a grid: who is in the same place, or in one that at most so many exits lead to, is near."},
	}
}
