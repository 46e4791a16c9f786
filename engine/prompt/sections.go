package prompt

// Overheads of a request beyond its texts, in tokens.
const (
	PerMessage = 4 // role and marks
	PerTool    = 8 // marks around its JSON
)

// Drop is how a section loses units.
type Drop string

const (
	DropNever  Drop = "never"
	DropLowest Drop = "lowest" // the unit of the lowest rank, of equals the last
	DropOldest Drop = "oldest" // the first unit
	DropHalf   Drop = "half"   // about half, the first ones, so that what follows stays the same for some turns
)

// Drops are all of them.
func Drops() []string {
	return []string{string(DropNever), string(DropLowest), string(DropOldest), string(DropHalf)}
}

// Rule bounds a section. Zero is no bound.
type Rule struct {
	Min   int  // tokens that others cannot take from it
	Max   int  // tokens
	Units int  // most units; beyond it units are dropped
	Drop  Drop // "" = the section's own
}

// Kind is a section that a prompt may have.
type Kind struct {
	Name   string
	Head   string // line above it; "" = none
	System bool   // part of the system message
	Fixed  bool   // never dropped, whatever a rule says
	Rule
}

// Sections are the sections of a prompt, in their order. The system message ends behind
// the lessons; what is before it changes rarely.
func Sections() []Kind {
	return []Kind{
		{Name: "persona", System: true, Fixed: true},
		{Name: "rules", System: true, Fixed: true},
		{Name: "grammar", System: true, Fixed: true},
		{Name: "tools", Head: "Tools", System: true, Fixed: true},
		{Name: "constant", Head: "What you always know", System: true, Rule: Rule{Drop: DropLowest}},
		{Name: "lessons", Head: "What you have learnt", System: true, Rule: Rule{Drop: DropLowest}},
		{Name: "summary", Head: "What happened long ago", Rule: Rule{Drop: DropOldest}},
		{Name: "history", Head: "What was said", Rule: Rule{Drop: DropHalf, Units: 16}},
		{Name: "knowledge", Head: "What this reminds you of", Rule: Rule{Drop: DropLowest}},
		{Name: "episodes", Head: "What happened to you before", Rule: Rule{Drop: DropLowest}},
		{Name: "goals", Head: "Your goals", Fixed: true},
		{Name: "state", Head: "Your own state", Fixed: true},
		{Name: "observations", Head: "What you observe", Rule: Rule{Drop: DropOldest}},
		{Name: "events", Head: "What happens", Rule: Rule{Drop: DropLowest}},
		{Name: "instruction", Fixed: true},
	}
}

// dropOrder lists the sections that may lose units, in the order in which they do.
func dropOrder() []string {
	return []string{"knowledge", "episodes", "history", "summary", "lessons", "events", "observations", "constant"}
}

// Names lists the sections.
func Names() (names []string) {
	for _, k := range Sections() {
		names = append(names, k.Name)
	}
	return names
}

// Unit is the smallest part of a prompt.
type Unit struct {
	ID     string // for the trace
	Text   string
	Rank   int64 // for DropLowest; a unit of a protected rank is never dropped
	Moment int64 // seconds; for DropHalf
}

// Protected is the rank of units that stay.
const Protected = 1 << 40

// Section is a section with its units, in the order of the prompt.
type Section struct {
	Kind
	Units []Unit
}
