package workflow

// Kinds are the node kinds that definitions may use, by the name that stands in
// a node's type. Add your own under a name with a prefix, such as "shop:Price".
// The names GroupInput, GroupOutput, SubWorkflow and Loop are the engine's.
type Kinds map[string]Kind

// Kind makes one node ready to run. Build is called once per node when a
// workflow is compiled: it declares the inputs and outputs, reads the configuration and
// returns the body. It reports faults to the setup, and may return nil then.
type Kind interface {
	Build(s *Setup) Body
}

// KindFunc is a Kind that is a function.
type KindFunc func(s *Setup) Body

// Build calls the function.
func (f KindFunc) Build(s *Setup) Body { return f(s) }

// Body is a node ready to run. One body serves all runs of a plan, also at the
// same time: it is never written after Build. Run reads its inputs and sets its
// outputs on x; outputs that it does not set are not taken, and what depends on
// them is skipped. It must not keep x.
//
// A body that asks the outside calls [Exec.AskModel] or [Exec.AskTool] once in
// Run, sets no outputs there, and is an [Asker].
type Body interface {
	Run(x *Exec) error
}

// BodyFunc is a Body that is a function.
type BodyFunc func(x *Exec) error

// Run calls the function.
func (f BodyFunc) Run(x *Exec) error { return f(x) }

// Asker takes the answer to the request of Run. A failed answer does not reach it: it
// fails the node, which may be retried.
type Asker interface {
	Body
	Answered(x *Exec, a *Answer) error
}

// Shortener is an Asker that may ask once more when a model refused the request because
// it is longer than its context ([protocol.KindContext]), whatever the node's retry says.
type Shortener interface {
	Asker
	// Shorter reports whether there is less to ask. The next Run finds [Exec.Short].
	Shorter(x *Exec) bool
}

// In declares an input.
type In struct {
	Name     string
	Type     Type // "" = WILDCARD
	Required bool // an edge, a literal or a default must be there; null does not do for typed inputs
	Default  any
	// Multi inputs take any number of edges; [Exec.Many] gives what arrived, in
	// the order of the edges. A literal for one is a list.
	Multi bool
	// Without is how the node treats a source of this input without a value.
	Without Absence
}

// Absence is how a node treats an input whose source gave no value.
type Absence uint8

const (
	// Propagate: skipped source, skipped node; failed source, failed node.
	Propagate Absence = iota
	// ToleratesSkip: a skipped source counts as not connected.
	ToleratesSkip
	// ToleratesAll: a failed source does so, too.
	ToleratesAll
)

// The handles that every node has besides its own.
const (
	// HandleAfter is an input of any number of edges that carries order, not
	// values: the node waits for the sources and shares their fate.
	HandleAfter = "after"
	// HandleError is an output. A node with an edge on it is caught when it
	// fails: the error goes out here as {kind, message, node} and the other
	// outputs are not taken.
	HandleError = "error"
	// HandleAll, on both ends of an edge, stands for every output of the source
	// whose name is an input of the target.
	HandleAll = "*"
)

// The kinds that the engine runs itself.
const (
	TypeGroupInput  = "GroupInput"
	TypeGroupOutput = "GroupOutput"
	TypeSubWorkflow = "SubWorkflow"
	TypeLoop        = "Loop"
)
