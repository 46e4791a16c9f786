package hooks

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"tavernsim/engine/permit"
	"tavernsim/protocol"
	"tavernsim/scenes/load/project"
	"tavernsim/tam/bind"
	"tavernsim/tools/manifest"
	"tavernsim/tools/manifest/places"
)

// Caller is whose call a hook changes.
type Caller struct {
	Agent   string
	Profile string // "" = the call belongs to none: it is made outside of scenes
}

// Change makes the call that a hook wants, as [Hook.Change] does. What the hook put into it has no secret: the
// value of one that a service knows would come to a tool which was not granted it, and to what the tool writes.
func (x *Hooks) Change(h *Hook, t *project.Tool, was *protocol.Call, by Caller, policy *permit.Judge, v any) (*protocol.Call, error) {
	is, err := h.Change(t, was, by, policy, v)
	if err == nil && x.tells(was.Params, is.Params) {
		return nil, h.made("parameters with the value of a secret")
	}
	return is, err
}

// tells reports whether what is new in parameters has a secret.
func (x *Hooks) tells(was, is map[string]any) bool {
	made := map[string]any{}
	for name, v := range is {
		if old, there := was[name]; !there || !reflect.DeepEqual(old, v) {
			made[name] = v
		}
	}
	masked, err := x.masked(made)
	return err != nil || !reflect.DeepEqual(masked, any(made))
}

// Change makes a call with the parameters that a hook made for it. They are bound, checked and judged
// as those of the agent were. Of references and secrets the hook can keep what the call had, where
// it had it, and nothing else: what is put in their place is the agent's, and the policy judged it
// there.
func (h *Hook) Change(t *project.Tool, was *protocol.Call, by Caller, policy *permit.Judge, v any) (*protocol.Call, error) {
	made, ok := v.(map[string]any)
	if !ok {
		return nil, h.made("parameters that are no object")
	}
	schema, err := bind.SchemaOf(t.Definition.Parameters)
	if err != nil {
		return nil, err
	}
	schema.Loose, schema.References = true, true // the check lists all faults
	is := *was
	is.Params, is.URIs, is.TypeHints, is.Orphans, is.Origin = made, nil, nil, nil, protocol.OriginNative
	params, err := bind.Bind(&is, &schema)
	if err != nil {
		return nil, h.made("wrong parameters: %w", err)
	}
	is.Params = params
	maps.DeleteFunc(is.Params, func(name string, v any) bool { return v == nil && !schema.Null(name) })
	is.URIs = kept(was.URIs, params)
	if name := written(bind.References(&is, &schema, params), is.URIs); name != "" {
		return nil, h.made("a reference of its own (parameter %s): it can keep that of the call there, or leave it out", name)
	}
	impl := t.Definition.Implementation.Type
	if name := written(others(impl, params), others(impl, was.Params)); name != "" {
		return nil, h.made("a reference of its own (parameter %s): it can keep those of the call, or leave them out", protocol.Short(name, 80))
	}
	if (impl == manifest.Shell || impl == manifest.Files) && lends(was.Params, params) {
		return nil, h.made("other parameters around a secret ($KARYI{NAME}): what becomes of one, the agent alone says")
	}
	if t.Check != nil && len(is.URIs) == 0 { // else when the references are there
		if err := t.Check(params); err != nil {
			return nil, h.made("wrong parameters: %w", err)
		}
	}
	judged := permit.Call{Tool: t.Definition.ID, Profile: by.Profile, Agent: by.Agent, Params: params, Hidden: bind.Hidden(is.URIs, &schema)}
	if v := policy.Judge(&judged); v.Do != permit.Allow {
		return nil, h.made("parameters that the policy does not allow (%s)", v.Rule)
	}
	return &is, nil
}

func (h *Hook) made(format string, args ...any) error {
	return protocol.Errorf(protocol.KindDenied, "the hook of the plugin "+h.Plugin+" made "+format, args...)
}

// kept are the references of a call that the parameters still have.
func kept(uris map[string]string, params map[string]any) (still map[string]string) {
	for name, uri := range uris {
		if params[name] != uri {
			continue
		}
		if still == nil {
			still = map[string]string{}
		}
		still[name] = uri
	}
	return still
}

// written is the first name at which there is a reference that was not there; "" = none.
func written(uris, were map[string]string) string {
	for _, name := range protocol.SortedKeys(uris) {
		if uri, there := were[name]; !there || uri != uris[name] {
			return name
		}
	}
	return ""
}

// others are the references of a call that no x-uri of its schema names: the inputs of code, and the files
// of read and edit. The check refuses those that are no texts.
func others(impl string, params map[string]any) map[string]string {
	uris := map[string]string{}
	switch impl {
	case manifest.Code:
		list, _ := params[manifest.InputsOfCode].(map[string]any)
		for name, v := range list {
			uris[manifest.InputsOfCode+", "+name], _ = v.(string)
		}
	case manifest.Files:
		list, _ := params["files"].([]any)
		for _, v := range list {
			file, _ := v.(map[string]any)
			if src, ok := file["src"].(string); ok {
				uris["files, "+src] = src
			}
		}
	}
	return uris
}

// lends reports whether changed parameters have a secret: its value would come to where the agent
// did not want it.
func lends(was, is map[string]any) bool {
	before, errBefore := json.Marshal(was)
	after, errAfter := json.Marshal(is)
	if errBefore != nil || errAfter != nil {
		return true
	}
	return !bytes.Equal(before, after) && strings.Contains(string(after), string(places.Secret))
}
