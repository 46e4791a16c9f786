// Package own holds the grants and secrets of an operator for the tools of one scene. A reload
// replaces both while the scene runs.
//
// [New] checks the grants; [Own.Next] checks those of new files of the operator, and
// [Own.Take] puts them into force.
//
// # Promises
//
//  1. A call sees the grants of one file, never of two.
//  2. Values of secrets that were in force once are masked until the end of the scene.
//
// # Not here
//
// Grants and secrets (tools/grants, tools/secrets), the needs of tools
// (scenes/tooling/needs), and the times of reading (scenes/run/runner).
package own

import (
	"cmp"
	"strings"
	"sync/atomic"

	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/tooling/needs"
	"tavernsim/tools/grants"
	"tavernsim/tools/secrets"
)

// Files are what the operator's files say. Both may be nil: then nothing is granted, and
// nobody has a secret.
type Files struct {
	Grants  *grants.Store
	Secrets *secrets.Store
}

// Own is what one scene has of it. It can be used by many goroutines.
type Own struct {
	project *project.Project
	place   needs.Place
	options map[string]string // values of options that are secret; they are taken out of texts, too

	now  atomic.Pointer[State]
	held *secrets.Held
}

// State is what counts, or would count.
type State struct {
	Files
	refused map[string]error // by who asks; nil = it is granted
}

// New takes the files of the operator for a scene; "" = for calls outside of scenes. options are secrets
// beside those of the file.
func New(p *project.Project, at needs.Place, scene string, f Files, options map[string]string) (*Own, error) {
	o := &Own{project: p, place: at, options: options}
	s, err := o.Next(f)
	if err != nil {
		return nil, err
	}
	o.now.Store(s)
	o.held = secrets.Hold(s.Secrets, scene)
	return o, nil
}

// Follow is what the scene has with another edition of the project. Both take secrets out of texts by
// the same values.
func (o *Own) Follow(p *project.Project, f Files, options map[string]string) (*Own, error) {
	next := &Own{project: p, place: o.place, options: options, held: o.held}
	s, err := next.Next(f)
	if err != nil {
		return nil, err
	}
	next.now.Store(s)
	return next, nil
}

// Next is what would count with these files.
func (o *Own) Next(f Files) (*State, error) {
	s, err := &State{Files: f, refused: map[string]error{}}, error(nil)
	for _, a := range needs.Of(o.project, o.place) {
		s.refused[a.Tool] = f.Grants.Check(&a)
	}
	s.Secrets, err = f.Secrets.With(o.options)
	return s, err
}

// Take lets a state count that Next has made: for calls that begin from now on.
func (o *Own) Take(s *State) error {
	if err := o.held.Renew(s.Secrets); err != nil {
		return err
	}
	o.now.Store(s)
	return nil
}

// Refused says why the operator has not granted what a tool, or needs.OfPlugin, asks for; nil =
// it is granted, or asks for nothing.
func (o *Own) Refused(who string) error { return o.now.Load().refused[who] }

// RefusedService says why other services may not call a service; nil = they may. One of a plugin has the grant
// of the plugin, and one of the project that asks for something the grant of one of its tools.
func (o *Own) RefusedService(name string) (err error) {
	x := o.project.Services()[name]
	if x == nil { // an edition took it out
		return protocol.Errorf(protocol.KindNotFound, "there is no service %s any more", name)
	}
	if x.Plugin != "" {
		return o.Refused(needs.OfPlugin(x.Plugin))
	}
	asks := x.Script.Asks()
	if len(asks) == 0 {
		return nil
	}
	for _, id := range o.project.ToolIDs() {
		if t, _ := o.project.Tool(id); t.Service == name {
			refused := o.Refused(id)
			if refused == nil {
				return nil
			}
			err = cmp.Or(err, refused)
		}
	}
	if err == nil {
		err = protocol.Errorf(protocol.KindDenied, "the service %s asks for %s, and no tool of it is there to have the grant; write one, and grant it", name, strings.Join(asks, ", "))
	}
	return err
}

// Refused says what Own.Refused would say.
func (s *State) Refused(who string) error { return s.refused[who] }

// Held are the secrets of the scene, with those that persons give while it runs.
func (o *Own) Held() *secrets.Held { return o.held }
