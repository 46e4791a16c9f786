package world

import (
	"reflect"
	"testing"

	"tavernsim/protocol"
)

func readRequest(raw protocol.Raw) (q Request, err error) {
	err = q.Read(raw, nil)
	return q, err
}

func TestRequestsSurviveTheWire(t *testing.T) {
	seven := int64(7)
	for name, q := range map[string]Request{
		"bare": {ID: "a/1.1", By: "a", Op: OpSet, Path: P("x"), Value: protocol.Encode(int64(1))},
		"all": {
			ID: "a/1.2", By: "a", Profile: "p", Reason: "why", Op: OpPush, Path: P("x", "y").At(-1), Value: protocol.Encode(map[string]any{"k": 1.5}),
			Expected: &seven, Reads: []Read{{Path: P("z"), Version: 3}}, Group: "g",
			Cause: Cause{Trace: "t", Chain: []protocol.Link{{Agent: "b", Type: "e"}}, Event: "e7", Turn: 3},
		},
		"delete": {ID: "a/1.3", By: "a", Op: OpDelete, Path: P("x")},
	} {
		t.Run(name, func(t *testing.T) {
			raw := protocol.Raw(q.AppendMsg(nil))
			got, err := readRequest(raw)
			if err != nil || !reflect.DeepEqual(got, q) {
				t.Fatalf("got %+v, %v; want %+v", got, err, q)
			}
			for i := range raw {
				if _, err := readRequest(raw[:i]); err == nil {
					t.Errorf("%d of %d bytes were taken for a request", i, len(raw))
				}
			}
		})
	}
}
