package manifest

import (
	"reflect"
	"slices"
	"strings"
)

// Types of implementations.
const (
	HTTP     = "http"
	Service  = "service"
	Workflow = "workflow"
	Node     = "node"
	Script   = "script"
	Code     = "code"
	MCP      = "mcp"
)

// typeRow is a type of implementations: a row of the table that the rules of the fields, the
// checks of a definition and its needs read.
type typeRow struct {
	name    string
	is      string             // what carries the tool out, for the page
	wants   []string           // fields of an Implementation that must be there
	may     []string           // and those that may
	within  bool               // the turn itself carries the tool out, by a workflow
	secrets bool               // needs may name secrets
	files   bool               // needs may name files
	dials   bool               // needs may name servers
	server  func(*Tool) string // "host:port" that its own fields name, which the operator grants as a need; "" = none
	check   func(*checker)     // of the fields that are wanted, if all are there; nil = none
}

// types is the table, in the order in which pages and faults name them.
func types() []typeRow {
	return []typeRow{
		{name: HTTP, is: "a request over HTTP", wants: []string{"url"}, may: []string{"method", "query", "headers", "body"}, secrets: true, files: true, dials: true, server: (*Tool).Server, check: (*checker).http},
		{name: Service, is: "a [program that stays](service.md), or a function of the program that embeds simd", wants: []string{"name"}, may: []string{"method"}, files: true, dials: true},
		{name: Workflow, is: "a workflow of the project", wants: []string{"id"}, within: true},
		{name: Node, is: "a [node kind](workflow.md)", wants: []string{"kind"}, may: []string{"config"}, within: true},
		{name: Script, is: "a program of the project", wants: []string{"command"}, may: []string{"files"}, secrets: true, files: true, dials: true, check: (*checker).script},
		{name: Code, is: "code that the agent writes", may: []string{"languages"}, files: true, check: (*checker).languages},
		{name: MCP, is: "a tool of an [MCP server](mcp.md)", wants: []string{"server", "tool"}},
	}
}

// each is a text of each row that has one.
func each(of func(typeRow) string) (list []string) {
	for _, row := range types() {
		if text := of(row); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// Types are the types that a definition may have.
func Types() []string { return each(func(row typeRow) string { return row.name }) }

// typeOf is the row of a type. The rules report a type that is missing; its needs are then not
// reported, too. Tools that come with the program have types of their own, and no needs.
func typeOf(name string) typeRow {
	rows := types()
	if i := slices.IndexFunc(rows, func(row typeRow) bool { return row.name == name }); i >= 0 {
		return rows[i]
	}
	return typeRow{secrets: true, files: true, dials: true}
}

// meanings is the sentence of the page about the types.
func meanings() string {
	text := strings.Join(each(func(row typeRow) string { return row.is }), "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

// dialling are the types whose needs may name servers.
func dialling() []string {
	return each(func(row typeRow) string {
		if !row.dials {
			return ""
		}
		return row.name
	})
}

// Within reports whether the turn itself carries the tool out, by a workflow.
func (x *Implementation) Within() bool { return typeOf(x.Type).within }

// given says of each field of an implementation but its type whether it is there.
func (x *Implementation) given() map[string]bool {
	v, given := reflect.ValueOf(x).Elem(), map[string]bool{}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		given[name] = !v.Field(i).IsZero()
	}
	delete(given, "type")
	return given
}
