package toolsxml

import "tavernsim/protocol"

const (
	// MaxSource bounds the text in bytes. A longer one is not read: its result
	// is the text and limit_exceeded.
	MaxSource = 16 << 20
	// MaxTools bounds the tools of one answer. With more, none of them runs.
	MaxTools = 200
	// MaxFiles bounds the files of one answer, MaxEdits its find/replace pairs.
	// The tool that goes beyond does not run.
	MaxFiles = 1000
	MaxEdits = 2000
	// MaxValue bounds one value in bytes. A tool with a longer one does not run.
	MaxValue = 1 << 20
	// MaxSecrets bounds the distinct references of one tool. With more it does
	// not run.
	MaxSecrets = 100
	// MaxDiagnostics bounds the diagnostics; too_many_diagnostics is the last.
	// Whether a tool runs does not depend on whether its diagnostic was listed.
	MaxDiagnostics = 200

	// Attributes of one tag; more are an error of the tool.
	maxAttributes = 32
	// Bytes of an unknown tag name; a longer one is text.
	maxName = 64
	// Unknown elements, reasoning tags and here documents without an end that are
	// searched for one. Later unknown elements end at the next tool, later reasoning
	// tags are text. Behind here documents no tool of the answer runs, as it may be
	// text of one. Bounds the total search.
	maxLostSearches = 8
)

// Options change how a text is read. The zero value is useful.
type Options struct {
	// Finish is why the provider stopped. After FinishLength and FinishFiltered
	// a root without </tools> does not run, even when its last tool is closed.
	Finish protocol.FinishReason
}

func (o Options) cut() bool {
	return o.Finish == protocol.FinishLength || o.Finish == protocol.FinishFiltered
}
