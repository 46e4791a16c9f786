package export

import (
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"tavernsim/protocol"
)

// A group of rows is what a Parquet file is written in: memory holds one. It
// ends at whichever bound comes first.
const (
	groupRows  = 1 << 17
	groupBytes = 32 << 20
)

// parquetRows writes Parquet, compressed with zstd.
type parquetRows struct {
	w       *parquet.GenericWriter[any]
	columns []Column
	batch   []parquet.Row
	rows    int // of the group
	bytes   int // of the group, about
}

// batchRows is how many rows are handed over at once.
const batchRows = 64

func newParquet(t Table, w io.Writer) *parquetRows {
	return &parquetRows{
		w: parquet.NewGenericWriter[any](w, parquetSchema(t), parquet.Compression(&zstd.Codec{}), parquet.CreatedBy("simd", "", ""),
			parquet.PageBufferSize(256<<10), parquet.MaxRowsPerRowGroup(groupRows)),
		columns: t.Columns,
	}
}

// parquetSchema keeps the order of the columns, which only a struct does.
func parquetSchema(t Table) *parquet.Schema {
	var fields []reflect.StructField
	for _, c := range t.Columns {
		typ, tag := parquetType(c.Type)
		tag = c.Name + tag
		if c.Empty {
			tag += ",optional"
		}
		fields = append(fields, reflect.StructField{
			Name: "C_" + c.Name, Type: typ, Tag: reflect.StructTag(`parquet:"` + tag + `"`),
		})
	}
	root := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	return parquet.NewSchema(t.Name, root)
}

func parquetType(t Type) (typ reflect.Type, tag string) {
	switch t {
	case Int:
		return reflect.TypeFor[int64](), ",delta"
	case Float:
		return reflect.TypeFor[float64](), ""
	case Bool:
		return reflect.TypeFor[bool](), ""
	case Moment:
		return reflect.TypeFor[int64](), ",timestamp(nanosecond:utc),delta"
	}
	return reflect.TypeFor[string](), ""
}

func (p *parquetRows) write(row []Cell) error {
	out := make(parquet.Row, len(row))
	for i, cell := range row {
		v, size := parquetValue(cell)
		level := 0
		if p.columns[i].Empty && cell != nil {
			level = 1
		}
		out[i] = v.Level(0, level, i)
		p.bytes += size
	}
	p.batch = append(p.batch, out)
	p.rows++
	if len(p.batch) < batchRows && p.bytes < groupBytes {
		return nil
	}
	return p.flush(p.rows >= groupRows || p.bytes >= groupBytes)
}

func parquetValue(c Cell) (v parquet.Value, size int) {
	switch x := c.(type) {
	case int64:
		return parquet.Int64Value(x), 8
	case protocol.Time:
		return parquet.Int64Value(int64(x)), 8
	case float64:
		return parquet.DoubleValue(x), 8
	case bool:
		return parquet.BooleanValue(x), 1
	case string:
		return parquet.ByteArrayValue([]byte(x)), len(x) + 4
	case json:
		return parquet.ByteArrayValue(x), len(x) + 4
	}
	return parquet.NullValue(), 1
}

// flush hands the batch over and, at its end, the group.
func (p *parquetRows) flush(group bool) error {
	if _, err := p.w.WriteRows(p.batch); err != nil {
		return err
	}
	clear(p.batch)
	p.batch = p.batch[:0]
	if !group {
		return nil
	}
	p.rows, p.bytes = 0, 0
	return p.w.Flush()
}

func (p *parquetRows) close() error {
	if err := p.flush(false); err != nil {
		return err
	}
	return p.w.Close()
}
