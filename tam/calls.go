package tam

import (
	"maps"
	"slices"
	"strconv"

	"tavernsim/protocol"
	"tavernsim/tam/finding"
)

// Calls returns the calls of all executable blocks, in order. Blocks that must
// not run give none; Problems says why.
func (r Result) Calls() []protocol.Call {
	var calls []protocol.Call
	for n := range r.Blocks {
		if r.Blocks[n].Executable {
			calls = append(calls, r.Blocks[n].calls(n)...)
		}
	}
	return calls
}

// calls are the steps of block n.
func (b *Block) calls(n int) []protocol.Call {
	var calls []protocol.Call
	for i := range b.Commands {
		calls = append(calls, b.call(n, i))
	}
	return calls
}

// orphans are told to the only step: one of several cannot be meant.
func (b *Block) orphans() map[string]string {
	if len(b.Orphans) == 0 || len(b.Commands) > 1 {
		return nil
	}
	m := make(map[string]string, len(b.Orphans))
	for _, o := range b.Orphans {
		m[o.Key] = o.Value
	}
	return m
}

// call is step i of block n. Its id, "tam1.2" for the second step of the first
// block, is unique within the text.
func (b *Block) call(n, i int) protocol.Call {
	c := &b.Commands[i]
	params := make(map[string]any, len(c.Params))
	for name, v := range c.Params {
		params[name] = v
	}
	return protocol.Call{
		ID:     "tam" + strconv.Itoa(n+1) + "." + strconv.Itoa(c.Index),
		Tool:   c.ToolID,
		Params: params,
		Origin: protocol.OriginTAM,

		RequestID: string(b.RequestID),
		Index:     c.Index,
		OnError:   c.OnError,
		Retry:     c.Retry,
		URIs:      maps.Clone(map[string]string(c.URIs)),
		TypeHints: maps.Clone(map[string]string(c.TypeHints)),
		Block:     n + 1,
		Inherited: c.Inherited,
		Common:    maps.Clone(map[string]string(b.Common)),
		Orphans:   b.orphans(),
	}
}

// Problem is a finding that the author of the text should hear about.
type Problem struct {
	Diagnostic
	Block   int    // ordinal; -1 for text outside blocks
	Request string // request id of the block
	NotRun  bool   // the calls of the block are not run
}

// String reads "block 1 (not run): line 3, col 1: code: message".
func (p Problem) String() string {
	if p.Block < 0 {
		return p.Diagnostic.String()
	}
	s := "block " + strconv.Itoa(p.Block+1)
	if p.NotRun {
		s += " (not run)"
	}
	return s + ": " + p.Diagnostic.String()
}

// Problems lists what kept blocks from running, and what in running blocks was
// dropped or read otherwise than it may have been meant. Habits of spelling
// that changed nothing are left out; they are in Block.Diagnostics.
func (r Result) Problems() []Problem {
	var out []Problem
	for _, d := range r.Diagnostics {
		if d.Severity != finding.Info {
			out = append(out, Problem{Diagnostic: d, Block: -1})
		}
	}
	for i := range r.Blocks {
		b := &r.Blocks[i]
		for _, d := range b.Diagnostics {
			if d.Severity == finding.Error || d.Severity == finding.Warning && !slices.Contains(habits(), d.Code) {
				out = append(out, Problem{Diagnostic: d, Block: i, Request: string(b.RequestID), NotRun: !b.Executable})
			}
		}
	}
	return out
}

// habits are codes that say how something was spelled, not that it was changed.
func habits() []Code {
	return []Code{MixedDelimiters, AlternateDelimiters, MissingEndMarker, BareValue, RepeatedCommand}
}
