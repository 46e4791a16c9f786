package nodes

import (
	"testing"

	"tavernsim/engine/workflow"
)

// What the context is, and the answer in it, by what the node and the model's file say.
func TestAssemblePromptRoom(t *testing.T) {
	for _, c := range []struct {
		node                  assemble
		model                 workflow.Room
		context, output, most int
	}{
		{assemble{}, workflow.Room{}, 8192, 1024, 1024},
		{assemble{context: 5000}, workflow.Room{}, 5000, 1024, 1024},
		{assemble{}, workflow.Room{Context: 2000}, 2000, 500, 500},
		{assemble{context: 2000}, workflow.Room{Context: 9000}, 2000, 1024, 1024},
		{assemble{output: 1900}, workflow.Room{Context: 2000, Answer: 70}, 2000, 1900, 1900},
		{assemble{}, workflow.Room{Context: 32000, Answer: 24000}, 32000, 24000, 24000},
		{assemble{}, workflow.Room{Answer: 4000}, 8192, 4000, 4000},
		{assemble{}, workflow.Room{Answer: 16000}, 32000, 16000, 16000},
		{assemble{context: 6000}, workflow.Room{Context: 128000, Answer: 8000}, 6000, 3000, 8000},
		{assemble{context: 11000}, workflow.Room{Context: 12000, Answer: 8000}, 11000, 7000, 8000},
		{assemble{context: 6000}, workflow.Room{Context: 128000, Answer: 50}, 6000, 50, 50},
	} {
		if context, output, most := c.node.room(c.model); context != c.context || output != c.output || most != c.most {
			t.Errorf("%+v: context %d, output %d, most %d; want %d, %d, %d", c.model, context, output, most, c.context, c.output, c.most)
		}
	}
}
