package export

import (
	"bytes"
	"encoding/csv"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"tavernsim/protocol"
)

// readJSONL reads rows as text cells, "" = empty, and holds the file to one
// object a line with its members in order.
func readJSONL(t testing.TB, table Table, data []byte) (rows [][]string) {
	t.Helper()
	for line := range bytes.Lines(data) {
		var members map[string]stdjson.RawMessage
		if err := stdjson.Unmarshal(line, &members); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		row := make([]string, len(table.Columns))
		var names []string
		for i, c := range table.Columns {
			names = append(names, c.Name)
			row[i] = jsonCell(t, c, members[c.Name])
			delete(members, c.Name)
		}
		if len(members) > 0 {
			t.Fatalf("more than the table's columns: %s", line)
		}
		slices.Sort(names)
		checkOrder(t, line, names)
		rows = append(rows, row)
	}
	return rows
}

func jsonCell(t testing.TB, c Column, raw stdjson.RawMessage) string {
	t.Helper()
	switch {
	case len(raw) == 0:
		t.Fatalf("no column %s", c.Name)
	case c.Type == JSON && c.Empty && string(raw) == "null", c.Type != JSON && string(raw) == "null":
		return ""
	case c.Type == Text || c.Type == Moment:
		var s string
		if err := stdjson.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	return string(raw)
}

// checkOrder holds the top members of a line, and all below, to byte order.
func checkOrder(t testing.TB, line []byte, top []string) {
	t.Helper()
	if first := fmt.Sprintf("{%q:", top[0]); !bytes.HasPrefix(line, []byte(first)) {
		t.Fatalf("line does not begin with %s: %s", first, line)
	}
	var v any
	d := stdjson.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	enc := stdjson.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // sorts members
		t.Fatal(err)
	}
	if want := b.Bytes(); sortedBytes(want) != sortedBytes(line) || !sameKeys(want, line) {
		t.Fatalf("members out of order:\n%swant\n%s", line, want)
	}
}

// sortedBytes makes texts comparable that escape the same characters otherwise.
func sortedBytes(b []byte) int { return bytes.Count(b, []byte(`":`)) }

func sameKeys(a, b []byte) bool { return slices.Equal(keys(a), keys(b)) }

// keys are the member names of JSON text in their order.
func keys(text []byte) (names []string) {
	d := stdjson.NewDecoder(bytes.NewReader(text))
	depth := []bool{} // of each open level: is it an object
	expectKey := false
	for {
		tok, err := d.Token()
		if err != nil {
			return names
		}
		switch x := tok.(type) {
		case stdjson.Delim:
			switch x {
			case '{', '[':
				depth = append(depth, x == '{')
				expectKey = x == '{'
				continue
			}
			depth = depth[:len(depth)-1]
		case string:
			if expectKey {
				names = append(names, x)
				expectKey = false
				continue
			}
		}
		expectKey = len(depth) > 0 && depth[len(depth)-1]
	}
}

func readCSV(t testing.TB, table Table, data []byte) [][]string {
	t.Helper()
	if !bytes.Contains(data, []byte("\r\n")) {
		t.Fatal("no CR LF")
	}
	records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range table.Columns {
		if records[0][i] != c.Name {
			t.Fatalf("head %q; want %q at %d", records[0], c.Name, i)
		}
	}
	return records[1:]
}

func readParquet(t testing.TB, table Table, data []byte) (rows [][]string) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range f.Schema().Columns() {
		if c[0] != table.Columns[i].Name {
			t.Fatalf("columns %v; want %q at %d", f.Schema().Columns(), table.Columns[i].Name, i)
		}
	}
	for _, group := range f.RowGroups() {
		r := group.Rows()
		buf := make([]parquet.Row, 10)
		for {
			n, err := r.ReadRows(buf)
			for _, row := range buf[:n] {
				rows = append(rows, parquetCells(table, row))
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

func parquetCells(table Table, row parquet.Row) []string {
	cells := make([]string, len(table.Columns))
	for _, v := range row {
		c := table.Columns[v.Column()]
		switch {
		case v.IsNull():
		case c.Type == Moment:
			cells[v.Column()] = moment(protocol.Time(v.Int64()))
		case c.Type == Int:
			cells[v.Column()] = text(v.Int64())
		case c.Type == Float:
			cells[v.Column()] = text(v.Double())
		case c.Type == Bool:
			cells[v.Column()] = text(v.Boolean())
		default:
			cells[v.Column()] = string(v.ByteArray())
		}
	}
	return cells
}
