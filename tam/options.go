package tam

import (
	"cmp"

	"tavernsim/protocol"
)

// limits bound one block. Beyond a limit the block gets limit_exceeded and does
// not run. A zero field means its default; none can be switched off.
type limits struct {
	Block  int // bytes from start marker to end marker; default 256 KiB
	Value  int // bytes of one raw value; default 128 KiB
	Fields int // default 100
	Steps  int // default 50
	Index  int // step numbers are below this; default 1000
	Retry  int // more are cut to this; default 10
}

func (l limits) orDefault() limits {
	return limits{
		Block: cmp.Or(l.Block, 256<<10), Value: cmp.Or(l.Value, 128<<10), Fields: cmp.Or(l.Fields, 100),
		Steps: cmp.Or(l.Steps, 50), Index: cmp.Or(l.Index, defaultIndex), Retry: cmp.Or(l.Retry, 10),
	}
}

const (
	defaultIndex = 1000
	// A start marker that is not followed by a field within this many bytes is
	// a mention in prose. It bounds how far the parser looks for one.
	maxPreamble = 4096
	// Quoted start markers that may be open inside one value. It bounds how far
	// an unterminated value looks before it gives up.
	maxQuotedStarts = 16
	// Blanks and a fence line in front of a marker belong to the block up to
	// this many bytes; what lies before is text.
	maxSeparator = 128
	// Bytes of one raw key with the blanks and marks around it.
	maxKey = 160
	// Blanks after a closer; more count as an end of line.
	maxTrail = 256
	// Bytes of a reasoning tag with its attributes.
	maxTag = 256
	// Bytes of a start or end marker with the blanks inside.
	maxMarker = 96
)

// Options change how a text is read. The zero value is useful.
type Options struct {
	limits limits // tests bring them within the reach of short texts

	// IsTool tells whether an id is a registered tool. With it a line
	// "command: File.Write" that lacks delimiters is read as a command
	// (bare_value) when the id is known; without it such a line is ignored text.
	IsTool func(id string) bool

	// Finish is why the provider stopped. After FinishLength and FinishFiltered
	// a block without an end marker is cut, and does not run.
	Finish protocol.FinishReason
}

func (o Options) cut() bool {
	return o.Finish == protocol.FinishLength || o.Finish == protocol.FinishFiltered
}
