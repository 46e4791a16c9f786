package scenes_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"tavernsim/engine/agenda"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/order"
	"tavernsim/persistence"
	"tavernsim/persistence/persistencetest"
	"tavernsim/protocol"
	"tavernsim/scenes"
	"tavernsim/scenes/history"
	"tavernsim/scenes/machines"
	"tavernsim/scenes/receipts"
	"tavernsim/scenes/scenestest"
)

// given are the orders of a scene's journal, each for the wave that it was.
func given(t testing.TB, s *scenestest.Scene) (list []*machines.Order) {
	t.Helper()
	s.Journal(t, func(j *persistence.Journal) {
		past, err := history.Orders(j, machines.NewCodec())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range past {
			e, err := order.EntryOf("", p.Wave, p.After, p.Intervened, p.Refused)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, receipts.Planned([]order.Entry{e}, "", false)...)
		}
	})
	return list
}

// randomOrder changes a place of the world, tells an agent something, lets it rest, or some
// of that; some are refused by the world.
func randomOrder(rng *rand.Rand, id int, agents []string) *agenda.Intervened {
	changes := []any{}
	for n := 1 + rng.IntN(3); n > 0; n-- {
		switch agent := agents[rng.IntN(len(agents))]; rng.IntN(8) {
		case 0:
			changes = append(changes, map[string]any{"event": map[string]any{"type": "order.heard", "to": []any{agent}, "payload": int64(id)}})
		case 1:
			changes = append(changes, map[string]any{"goal": map[string]any{"agent": agent, "id": "ordered", "priority": rng.Float64()}})
		case 2: // it may be no list by now
			changes = append(changes, map[string]any{"world": map[string]any{"path": "ordered.either", "op": "push", "value": int64(id)}})
		case 3:
			changes = append(changes, map[string]any{"world": map[string]any{"path": "ordered.either", "value": int64(id)}})
		case 4:
			changes = append(changes, map[string]any{"private_state": map[string]any{"agent": agent, "path": "ordered", "value": int64(id), "reason": "because"}})
		case 5:
			changes = append(changes, map[string]any{"rest": map[string]any{"agents": agent}})
		case 6:
			changes = append(changes, map[string]any{"wake": map[string]any{"agents": "*"}})
		default:
			changes = append(changes, map[string]any{"world": map[string]any{"path": "ordered.sum", "op": "add", "value": int64(1)}})
		}
	}
	return &agenda.Intervened{ID: fmt.Sprint("o", id), By: "gm", Reason: "because", Do: protocol.Encode(changes)}
}

// TestOrders gives a live scene orders from several goroutines. The journal has each once,
// as its receipt says, and what it has makes the same history again from a file: with any
// number of workers, interrupted and resumed.
func TestOrders(t *testing.T) {
	for _, clock := range []agenda.ClockKind{agenda.Virtual, agenda.Realtime} {
		t.Run(string(clock), func(t *testing.T) {
			hands, each := 4, 8
			if scenestest.Long() {
				each = 20
			}
			s := scenestest.New(t, scenestest.Town(t), "")
			set := scenestest.Settings{Clock: clock, Workers: 2, Stop: &agenda.Stop{Ticks: 1 << 40, Deliberations: 1 << 40}}
			if clock == agenda.Realtime {
				set.Stop = &agenda.Stop{}
			}
			r, err := s.Start(set)
			if err != nil {
				t.Fatal(err)
			}
			agents := []string{s.Made(t, set).Name(0), s.Made(t, set).Name(1)}
			var mu sync.Mutex
			told := map[string]receipts.Receipt{}
			var wg sync.WaitGroup
			for h := range hands {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(7, uint64(h)))
					for i := range each {
						o := randomOrder(rng, h*each+i, agents)
						got, err := r.Run.Order(context.Background(), o)
						again, twice := r.Run.Order(context.Background(), o)
						if err != nil || twice != nil || again != got {
							t.Errorf("%+v, %v; once more %+v, %v", got, err, again, twice)
							return
						}
						mu.Lock()
						told[o.ID] = got
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			if _, err := r.Run.Order(context.Background(), &agenda.Intervened{ID: "end", Do: protocol.Encode([]any{map[string]any{"end": nil}})}); err != nil {
				t.Error(err)
			}
			out := r.Close()
			if out.Err != nil || out.Reason != agenda.StoppedByRequest {
				t.Fatal(out.Reason, out.Err)
			}
			refused := 0
			s.Journal(t, func(j *persistence.Journal) {
				past, err := history.Orders(j, machines.NewCodec())
				if err != nil || len(past) != hands*each+1 {
					t.Fatal(len(past), err)
				}
				for _, p := range past[:hands*each] {
					if r := told[p.ID]; r != (receipts.Receipt{ID: p.ID, Wave: p.Wave, Refused: p.Refused}) {
						t.Errorf("the journal has %+v, the receipt says %+v", p, r)
					}
					if p.Refused != "" {
						refused++
					}
				}
			})
			if refused == 0 || refused > hands*each/2 {
				t.Errorf("%d of %d were refused", refused, hands*each)
			}
			mustVerify(t, s, set)
			mustRestore(t, s, set)
			noTurnAtRest(t, s)
			if clock == agenda.Realtime {
				return
			}
			mustObey(t, s, set, out, 20)
		})
	}
}

// noTurnAtRest looks for turns that began while their agent rested, and for rests that began
// or ended twice.
func noTurnAtRest(t *testing.T, s *scenestest.Scene) {
	t.Helper()
	codec, wave, rests, turns := machines.NewCodec(), uint64(1), map[uint32]uint64{}, 0
	s.Journal(t, func(j *persistence.Journal) {
		if err := j.Scan(persistence.Query{}, func(r protocol.Record) error {
			f, err := codec.ReadFact(r.Kind, r.Data)
			switch x := f.(type) {
			case *agenda.WaveClosed:
				wave = x.Wave + 1
			case *agenda.Rested:
				for _, o := range x.Agents {
					if rests[o] != 0 {
						t.Errorf("wave %d: agent %d rests since wave %d, and again", wave, o, rests[o])
					}
					rests[o] = wave
				}
			case *agenda.RestEnded:
				for _, o := range x.Agents {
					if rests[o] == 0 {
						t.Errorf("wave %d: the rest of agent %d ends that does not rest", wave, o)
					}
					delete(rests, o)
				}
			case *agentfact.TurnEnded:
				if turns++; rests[x.Agent] != 0 && x.Wave > rests[x.Agent] {
					t.Errorf("agent %d rests since wave %d and was woken in wave %d", x.Agent, rests[x.Agent], x.Wave)
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
	if turns == 0 {
		t.Error("nobody had a turn")
	}
}

// An order that cannot be carried out is refused before it is a fact.
func TestFaultyOrders(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	r, err := s.Start(scenestest.Settings{Stop: &agenda.Stop{Ticks: 1 << 40, Deliberations: 1 << 40}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	change := func(kind string, fields map[string]any) []any {
		if fields == nil {
			return []any{map[string]any{kind: nil}}
		}
		return []any{map[string]any{kind: fields}}
	}
	for want, do := range map[string][]any{
		"want a list of 1 to 256 changes":                                                 {},
		"do[0]: want an object with one field, the kind of the change: event, say, world": {map[string]any{"a": nil, "b": nil}},
		"do[0].wander: there is no such change":                                           change("wander", nil),
		"do[0].spawn: want one of agent and profile":                                      change("spawn", nil),
		"do[0].event: received no type":                                                   change("event", map[string]any{}),
		"the event type has an empty segment":                                             change("event", map[string]any{"type": "a..b"}),
		"has no agent nobody":                                                             change("goal", map[string]any{"agent": "nobody", "id": "x"}),
		"has no agent $scene":                                                             change("reflect", map[string]any{"agent": "$scene"}),
		"the scene has no agent that is meant by role:nobody, $scene":                     change("rest", map[string]any{"agents": []any{"role:nobody", "$scene"}}),
		"do[0].remove: received the unknown parameter agent; expected one of agents":      change("remove", map[string]any{"agent": "nobody"}),
		`op "explode": want one of set, add`:                                              change("world", map[string]any{"path": "a", "op": "explode"}),
		"received the unknown parameter color":                                            change("world", map[string]any{"path": "a", "color": "red"}),
		"end is the only change of its order":                                             {map[string]any{"end": nil}, map[string]any{"end": nil}},
	} {
		_, err := r.Run.Order(context.Background(), &agenda.Intervened{ID: "x", Do: protocol.Encode(do)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", do, err, want)
		}
	}
	ok := &agenda.Intervened{ID: "x", Do: protocol.Encode(change("world", map[string]any{"path": "a", "value": int64(1)}))}
	if _, err := r.Run.Order(context.Background(), ok); err != nil {
		t.Error(err)
	}
	other := *ok
	other.Reason = "another"
	if _, err := r.Run.Order(context.Background(), &other); protocol.KindOf(err) != protocol.KindConflict {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("gone"))
	if _, err := r.Run.Order(ctx, &agenda.Intervened{ID: "y", Do: ok.Do}); err != nil && protocol.KindOf(err) != protocol.KindCancelled {
		t.Error(err)
	}
	r.Run.Interrupt()
	r.Wait()
	if _, err := r.Run.Order(context.Background(), &agenda.Intervened{ID: "z", Do: ok.Do}); protocol.KindOf(err) != protocol.KindConflict {
		t.Error(err)
	}
}

// An order that would end the scene at a later wave is no part of another end.
func TestEndedBeforeItsOrder(t *testing.T) {
	s := scenestest.New(t, scenestest.Town(t), "")
	end := &agenda.Intervened{ID: "end", Do: protocol.Encode([]any{map[string]any{"end": nil}})}
	r, err := s.Start(scenestest.Settings{Stop: &agenda.Stop{Ticks: 1 << 40, Deliberations: 1 << 40}, Orders: []*machines.Order{{Intervened: end, Wave: 1 << 40}}})
	if err != nil {
		t.Fatal(err)
	}
	r.Run.Terminate()
	if out := r.Close(); out.Err != nil || out.Reason != agenda.StoppedByRequest {
		t.Fatal(out.Reason, out.Err)
	}
	if list := given(t, s); len(list) != 0 {
		t.Errorf("%+v is a fact", list[0].Intervened)
	}
}

// When the scene fails behind the wave of an order, whoever gave it hears what became of it if the wave is durable,
// and else that nobody knows yet. The order is carried out once, whichever it is.
func TestTheSceneFailsBehindAnOrder(t *testing.T) {
	for _, durable := range []bool{true, false} {
		s := scenestest.New(t, scenestest.Town(t), "")
		var held sync.RWMutex // while it is, no wave becomes durable
		disk := persistencetest.FailingDisk(persistencetest.OSDisk(), func(op persistencetest.DiskOp) error {
			if op.Sync {
				held.RLock()
				defer held.RUnlock()
			}
			return nil
		})
		set := scenestest.Settings{Clock: agenda.Realtime, FS: disk, Durability: persistence.Power, Stop: &agenda.Stop{}}
		hold := func() {
			if !durable {
				held.Lock()
			}
		}
		r, err := s.StartWith(set, scenes.FailAfterOrder(durable, hold))
		if err != nil {
			t.Fatal(err)
		}
		o := &agenda.Intervened{ID: "o", Do: protocol.Encode([]any{map[string]any{"world": map[string]any{"path": "ordered", "op": "add", "value": int64(1)}}})}
		got, err := r.Run.Order(t.Context(), o)
		if durable && (err != nil || got.Wave == 0) || !durable && protocol.KindOf(err) != protocol.KindUnknownOutcome {
			t.Errorf("durable %v: %+v, %v", durable, got, err)
		}
		if !durable {
			held.Unlock()
		}
		if end := r.Close(); end.Err == nil {
			t.Error("the scene did not fail")
		}
		set.FS = nil
		if r, err = s.Start(set); err != nil {
			t.Fatal(err)
		}
		again, err := r.Run.Order(t.Context(), o)
		if err != nil || again.Wave == 0 || durable && again != got {
			t.Errorf("durable %v: %+v, and again %+v, %v", durable, got, again, err)
		}
		if sum := r.Run.World().Value()["ordered"]; sum != int64(1) {
			t.Errorf("durable %v: it was carried out %v times", durable, sum)
		}
		r.Run.Interrupt()
		r.Close()
	}
}
