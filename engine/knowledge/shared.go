package knowledge

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tavernsim/protocol"
)

// A base that the scenes of a run share (shared: project) is kept by the first of them: it decides
// about every request, so the rules of writing and merging hold in one place and in one order. Another
// scene forwards what it is asked ([Forwarded]) and folds what the keeper has decided ([OpTold]), so its
// base is the keeper's as it was some time ago. Scenes carry the facts to each other (scenes/machines).
//
// An agent of another scene is named SCENE/INSTANCE; no id of a scene or an agent has a slash. In the
// entries of a shared base those of the keeper are named so, too.

func (c *checker) sharing(def *KnowledgeBase) {
	switch def.Shared {
	case "", SharedInScene:
		if len(def.Scenes) > 0 {
			c.at("/scenes", "scenes share a base with shared: project alone")
		}
	case SharedInProject:
		if len(def.Scenes) < 2 {
			c.at("/scenes", "want the ids of two or more scenes, first the one that keeps the base")
		}
		c.list("/scenes", def.Scenes)
		for i, id := range def.Scenes {
			if slices.Contains(def.Scenes[:i], id) {
				c.at("/scenes/"+strconv.Itoa(i), "%q is named twice", id)
			}
		}
	default:
		c.at("/shared", "%q is not known; want scene or project", def.Shared)
	}
}

// Placed says whose state it is, and so which bases the scene keeps for others or has of another one.
func (s State) Placed(scene string) State {
	next := State{maps.Clone(s.shelves), s.embeds, scene}
	for id, sh := range next.shelves {
		i := slices.Index(sh.base.def.Scenes, scene)
		if i < 0 {
			continue
		}
		if i == 0 {
			sh.lent = sh.base.def.Scenes[1:]
		} else {
			sh.keeper = sh.base.def.Scenes[0]
		}
		next.shelves[id] = sh
	}
	return next
}

// Alone is the state of a scene that decides about every base by itself, as after the run.
func (s State) Alone() State {
	next := State{maps.Clone(s.shelves), s.embeds, s.scene}
	for id, sh := range next.shelves {
		if sh.keeper != "" {
			sh.keeper, sh.lent = "", sh.base.def.Scenes
			next.shelves[id] = sh
		}
	}
	return next
}

// Hears lists the scenes that are told of a fact of this one.
func (s State) Hears(f Fact) []string {
	lent := s.shelves[f.base()].lent
	switch x := f.(type) {
	case *Forwarded:
		return []string{x.Keeper}
	case *Refused: // only who asked hears it
		scene, _, elsewhere := strings.Cut(x.By, "/")
		if i := slices.Index(lent, scene); elsewhere && i >= 0 {
			return lent[i : i+1]
		}
		return nil
	case *Written, *Suggested, *Reviewed, *Embedded:
	}
	return lent
}

// Told is the request by which a scene hears of a fact of another one. undelivered says why a
// fact of its own has not reached the other.
func Told(from, undelivered string, f protocol.KindData) *Request {
	return &Request{Op: OpTold, Entry: map[string]any{
		"from": from, "error": undelivered, "kind": f.Kind, "fact": base64.StdEncoding.EncodeToString(f.Data),
	}}
}

// readTold reads the fact of which a scene is told.
func (q *Request) readTold() error {
	text := func(name string) string { s, _ := q.Entry[name].(string); return s }
	data, err := base64.StdEncoding.DecodeString(text("fact"))
	if err != nil {
		return protocol.Errorf(protocol.KindCorrupt, "what scene %s tells of a knowledge base: %w", text("from"), err)
	}
	f, err := protocol.NewCodec(Facts()).ReadFact(text("kind"), data)
	if err != nil {
		return err
	}
	told, ok := f.(Fact)
	if !ok {
		return protocol.Errorf(protocol.KindCorrupt, "scene %s tells of a fact of kind %q; want one of a knowledge base", text("from"), text("kind"))
	}
	q.KB, q.told, q.from, q.undelivered = told.base(), told, text("from"), text("error")
	return nil
}

// told decides about a request of another scene, or takes over what the keeper has decided.
func (d *decider) told() ([]protocol.Fact, error) {
	if d.req.told == nil || d.req.By != "" {
		return nil, d.errorf(protocol.KindDenied, "scenes alone tell each other of a base that they share")
	}
	switch x := d.req.told.(type) {
	case *Forwarded:
		q, err := RequestOf(x.Ask)
		switch {
		case err != nil:
			return nil, err
		case d.req.undelivered != "" && q.Op == OpUsed: // nobody waits for it
			return nil, nil
		case d.req.undelivered != "":
			err := d.errorf(protocol.KindUnknown, "the request did not reach the scene that keeps it: %s", d.req.undelivered)
			d.req = &q
			return nil, err
		case d.shelf.keeper != "":
			return nil, d.errorf(protocol.KindConflict, "scene %s asks for a change, and %s keeps it", d.req.from, d.shelf.keeper)
		}
		q.By, q.ID = elsewhere(d.req.from, q.By), elsewhere(d.req.from, q.ID)
		asked := decider{shelf: d.shelf, scene: d.scene, req: &q, now: d.now}
		return asked.facts(), nil
	default:
		if d.req.undelivered == "" && d.shelf.keeper == d.req.from {
			return []protocol.Fact{d.taken(x)}, nil
		}
	}
	return nil, nil
}

// elsewhere names an agent, or a request, of another scene. The scene itself has no name.
func elsewhere(scene, id string) string {
	if id == "" {
		return ""
	}
	return scene + "/" + id
}

// taken is a fact of the keeper as this scene keeps it: the asker is named as seen from here.
func (d *decider) taken(f Fact) protocol.Fact {
	named := func(by, request *string) {
		if own := d.scene + "/"; strings.HasPrefix(*by, own) {
			*by, *request = strings.TrimPrefix(*by, own), strings.TrimPrefix(*request, own)
		} else if *by != "" && !strings.Contains(*by, "/") {
			*by, *request = elsewhere(d.req.from, *by), elsewhere(d.req.from, *request)
		}
	}
	switch x := f.(type) {
	case *Written:
		named(&x.By, &x.Request)
	case *Suggested:
		named(&x.By, &x.Request)
	case *Reviewed:
		named(&x.By, &x.Request)
	case *Refused:
		named(&x.By, &x.Request)
	case *Embedded, *Forwarded: // nobody asked, or it is decided elsewhere
	}
	return f
}

// forward hands a request on to the scene that keeps the base. What this scene can tell by itself
// is refused at once.
func (d *decider) forward(op Op) ([]protocol.Fact, error) {
	switch op {
	case OpEmbed:
		return nil, d.errorf(protocol.KindDenied, "scene %s keeps it, and gives its entries their vectors", d.shelf.keeper)
	case OpUsed:
		if d.learning() == nil {
			return nil, nil
		}
	default:
		if err := d.permitted(); err != nil {
			return nil, err
		}
	}
	if op == OpReview {
		if _, err := d.suggestion(); err != nil {
			return nil, err
		}
	}
	v, err := protocol.Normalize(d.req.Value())
	if err != nil {
		return nil, d.errorf(protocol.KindInvalid, "%w", err)
	}
	ask := protocol.Encode(v)
	if len(ask) > MaxEntryBytes {
		return nil, d.errorf(protocol.KindInvalid, "a request of %d bytes; the limit to another scene is %d", len(ask), MaxEntryBytes)
	}
	return []protocol.Fact{&Forwarded{KB: d.req.KB, Request: d.req.ID, By: d.req.By, Keeper: d.shelf.keeper, Ask: ask, At: d.now}}, nil
}

// named is an id, of an agent or of its request, as the entries of the base name it; "" = the scene.
func (d *decider) named(by, id string) string {
	if d.shelf.lent == nil || strings.Contains(by, "/") {
		return id
	}
	return elsewhere(d.scene, id)
}
