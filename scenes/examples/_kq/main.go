package main

import (
	"fmt"

	"tavernsim/engine/knowledge"
	"tavernsim/scenes/runner"
)

func main() {
	p, err := runner.Load("scenes/examples/herbalist", true)
	if err != nil {
		panic(err)
	}
	var bases []*knowledge.Base
	for _, id := range p.KnowledgeBaseIDs() {
		d, _ := p.KnowledgeBase(id)
		b, err := knowledge.New(*d)
		fmt.Println(id, len(d.Entries), err)
		bases = append(bases, b)
		for _, q := range []string{"feverfew", "What is feverfew for, if you would be so kindly?", "sunpetal", "mill"} {
			fmt.Println("  ", q, len(b.Query(knowledge.Query{Text: q, Limit: 3})))
		}
		fmt.Println("  tags", len(b.Query(knowledge.Query{Tags: []string{"herb"}})))
	}
	st, _ := knowledge.NewState(bases...)
	b, ok := st.Base("kb_world_flora_fauna_v2")
	fmt.Println(ok, len(b.Query(knowledge.Query{Text: "feverfew"})))
	q, err := knowledge.QueryOf(map[string]any{"query": "feverfew", "limit": int64(3)})
	fmt.Printf("%+v %v\n", q, err)
	fmt.Println(len(b.Query(q)))
}
