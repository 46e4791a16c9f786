package export

import (
	"strings"

	"tavernsim/protocol"
)

// Type of a column.
type Type int

const (
	Int    Type = iota // whole number
	Float              // number
	Bool               //
	Text               //
	JSON               // text that is one JSON value; in JSON lines the value itself
	Moment             // nanoseconds since 1970; RFC 3339 in text
)

// String is the type's name in the documentation.
func (t Type) String() string {
	return [...]string{"whole", "number", "true/false", "text", "JSON", "time"}[t]
}

// Column of a table.
type Column struct {
	Name  string
	Type  Type
	Empty bool // it may be empty
}

// Table is the name of a table and its columns, in the order of CSV and Parquet.
type Table struct {
	Name    string
	Columns []Column
}

// Cell is one value of a row: nil (empty), int64, float64, bool, string (text),
// protocol.Time, or json for a column of that type.
type Cell = any

// json is the text of one JSON value.
type json []byte

// place begins every table: which wave, and when on the clock of the scene.
func place(columns ...Column) []Column {
	return append([]Column{{"wave", Int, false}, {"time", Moment, false}, {"time_ns", Int, false}}, columns...)
}

// Tables lists what can be exported.
func Tables() []Table {
	value := []Column{{"path", Text, false}, {"exists", Bool, false}, {"value", JSON, true}, {"number", Float, true}}
	return []Table{
		{"facts", append([]Column{{"seq", Int, false}}, place(
			Column{"actor", Text, false}, Column{"kind", Text, false}, Column{"data", JSON, false})...)},
		{"events", append([]Column{{"seq", Int, false}}, place(
			Column{"event", Text, false}, Column{"type", Text, false}, Column{"source", Text, false}, Column{"targets", JSON, false},
			Column{"priority", Text, false}, Column{"trace", Text, false}, Column{"depth", Int, false}, Column{"chain", JSON, false},
			Column{"expires", Moment, true}, Column{"receivers", Int, false}, Column{"refused", Text, true}, Column{"detail", Text, true},
			Column{"marks", JSON, false}, Column{"filter_errors", Int, false}, Column{"payload", JSON, true}, Column{"held", Int, false})...)},
		{"world", place(append([]Column{{"version", Int, false}}, value...)...)},
		{"agents", place(append([]Column{{"agent", Text, false}}, value...)...)},
		{"artifacts", append([]Column{{"seq", Int, false}}, place(
			Column{"agent", Text, false}, Column{"tool", Text, false}, Column{"uri", Text, false}, Column{"size", Int, false},
			Column{"media_type", Text, false}, Column{"name", Text, false}, Column{"there", Bool, false})...)},
	}
}

// Find finds a table by its name.
func Find(name string) (Table, error) {
	var names []string
	for _, t := range Tables() {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Table{}, protocol.Errorf(protocol.KindInvalid, "there is no table %q; want %s", name, strings.Join(names, ", "))
}
