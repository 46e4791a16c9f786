package agent

import (
	"tavernsim/engine/agent/listen"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/bus"
	"tavernsim/protocol"
)

func listenTools() (list []Tool) {
	for _, d := range listen.Tools() {
		list = append(list, Tool{ToolSpec: d.Spec, sceneOnly: d.SceneOnly, status: protocol.CallRequested, run: func(t *Turn, p tool.Params) (any, error) {
			q, err := d.Call(&listen.Asker{Instance: t.m.ID.Instance, Now: t.wake.Now}, p)
			if err == nil {
				t.out.Request(bus.Service, q.AppendMsg)
			}
			return nil, err
		}})
	}
	return list
}
